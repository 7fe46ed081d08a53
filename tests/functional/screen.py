# SPDX-License-Identifier: Apache-2.0
"""The screen of a terminal after the output of a program. Supports the escape sequences that
spoor and shells use."""
import re

TOKEN = re.compile(r"\033\[([0-9;?]*)([A-Za-z])|\033([78D])|([\r\n\b\a])|([^\033\r\n\b\a])", re.DOTALL)


class Screen:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [[" "] * columns for _ in range(rows)]
        self.history = []  # lines that have scrolled off the top of the screen
        self.row = self.column = 0
        self.saved = (0, 0)
        self.top, self.bottom = 0, rows - 1  # the part that scrolls

    def text(self):
        return ["".join(line).rstrip() for line in self.lines]

    def all_text(self):
        return ["".join(line).rstrip() for line in self.history] + self.text()

    def resize(self, columns, rows):
        """Resizes like most terminals: lines below the cursor are dropped first."""
        while len(self.lines) > rows:
            if self.row < len(self.lines) - 1:
                self.lines.pop()
            else:
                self.history.append(self.lines.pop(0))
                self.row -= 1
        self.lines += [[" "] * columns for _ in range(rows - len(self.lines))]
        self.lines = [(line + [" "] * columns)[:columns] for line in self.lines]
        self.columns, self.rows, self.top, self.bottom = columns, rows, 0, rows - 1

    def down(self):
        if self.row == self.bottom:
            line = self.lines.pop(self.top)
            if self.top == 0:
                self.history.append(line)
            self.lines.insert(self.bottom, [" "] * self.columns)
        elif self.row < self.rows - 1:
            self.row += 1

    def put(self, character):
        if self.column == self.columns:
            self.column = 0
            self.down()
        self.lines[self.row][self.column] = character
        self.column += 1

    def erase(self, row, start):
        self.lines[row][start:] = [" "] * (self.columns - start)

    def control(self, numbers, letter):
        values = [int(number or 0) for number in numbers.lstrip("?").split(";")]
        if letter == "A":
            self.row = max(self.row - max(values[0], 1), self.top if self.row >= self.top else 0)
        elif letter == "H":
            self.row, self.column = max(values[0], 1) - 1, max((values + [1])[1], 1) - 1
        elif letter == "K":
            self.erase(self.row, 0 if values[0] == 2 else self.column)
        elif letter == "J":
            self.erase(self.row, self.column)
            for row in range(self.row + 1, self.rows):
                self.erase(row, 0)
        elif letter == "r":
            self.top, self.bottom = max(values[0], 1) - 1, ((values + [0])[1] or self.rows) - 1
            self.row = self.column = 0
        else:
            assert letter in "mhl", (numbers, letter)

    def feed(self, text):
        """Applies output, which must consist of complete escape sequences."""
        end = 0
        for token in TOKEN.finditer(text):
            assert token.start() == end, text[end:end + 20]
            end = token.end()
            if token[2]:
                self.control(token[1], token[2])
            elif token[3] == "7":
                self.saved = (self.row, self.column)
            elif token[3] == "8":
                self.row, self.column = self.saved
            elif token[3] == "D" or token[4] == "\n":
                self.down()
            elif token[4] == "\r":
                self.column = 0
            elif token[4] == "\b":
                self.column = max(self.column - 1, 0)
            elif token[5]:
                self.put(token[5])
        assert end == len(text), text[end:]
