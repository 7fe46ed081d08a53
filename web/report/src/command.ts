// Formats commands so that they can be pasted into a shell and show hidden characters;
// src/text/escape.c does the same.

// Characters that are invisible, or that change how other characters are displayed.
const UNSAFE =
  /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\u{1fffe}\u{1ffff}\u{e0000}-\u{e0fff}]/gu;

const LETTERS: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = (digits: number) => code.toString(16).padStart(digits, "0");
  if (LETTERS[character]) return LETTERS[character];
  if (code < 0x80) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

export function visible(text: string): string {
  return text.replace(UNSAFE, escaped);
}

// Returns a word as is, 'quoted', or with escapes as in $'a
// b'.
export function quoted(word: string): string {
  if (visible(word) !== word) return `$'${visible(word.replace(/[\\']/g, "\\$&"))}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const LENGTH_MAX = 300;

// Returns the beginning of a long text.
export function shortened(text: string): string {
  const characters = [...text];
  return characters.length > LENGTH_MAX ? `${characters.slice(0, LENGTH_MAX).join("")}…` : text;
}
