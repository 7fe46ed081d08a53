// A table that can be sorted by its columns.

import { announce, button, h, scrollArea } from "./dom";

export interface TableColumn<Row> {
  title: string;
  // The sort key of a row; NaN and empty texts come last.
  key: (row: Row) => number | string;
  text: (row: Row) => string;
  kind?: "number" | "text" | "code";
  isRowHeader?: boolean;
  isBad?: (row: Row) => boolean;
  isMinor?: boolean; // omitted when printed, because paper is too narrow
  press?: (row: Row) => void; // makes the cell a button
}

export interface TableOptions {
  caption: string;
  sorted?: number; // the column by which the table is sorted at first, in descending order
  limit?: number; // rows beyond this number are shown on request
}

function isMissing(key: number | string): boolean {
  return typeof key === "number" ? Number.isNaN(key) : key === "";
}

export function compareKeys(a: number | string, b: number | string, isDescending: boolean): number {
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return isDescending ? -order : order;
}

function classOf<Row>({ kind = "text", isMinor }: TableColumn<Row>): string {
  return isMinor ? `${kind} minor` : kind;
}

export class Table<Row> {
  readonly root: HTMLElement;
  private readonly body = h("tbody");
  private readonly headers: HTMLTableCellElement[];
  private readonly more: HTMLButtonElement;
  private readonly missing = h("p", { class: "dim on-paper" });
  private sorted: number;
  private isDescending = true;
  private isWhole = false;

  constructor(
    private readonly columns: TableColumn<Row>[],
    private readonly rows: Row[],
    private readonly options: TableOptions,
  ) {
    this.sorted = options.sorted ?? -1;
    this.headers = columns.map((column, index) => this.header(column, index));
    this.more = button("", "", () => this.showAll(), { class: "more" });
    this.root = h(
      "div",
      { class: "table" },
      scrollArea(
        `Table: ${options.caption}`,
        h(
          "table",
          {},
          h("caption", { class: "visually-hidden" }, options.caption),
          h("thead", {}, h("tr", {}, ...this.headers)),
          this.body,
        ),
      ),
      this.more,
      this.missing,
    );
    this.fill();
  }

  private header(column: TableColumn<Row>, index: number): HTMLTableCellElement {
    return h(
      "th",
      { scope: "col", class: classOf(column) },
      button(column.title, column.title, () => this.sort(index), { class: "sort" }),
    );
  }

  private sort(index: number): void {
    // The first click sorts numbers in descending order and texts in ascending order.
    if (index === this.sorted) this.isDescending = !this.isDescending;
    else this.isDescending = this.columns[index]!.kind === "number";
    this.sorted = index;
    this.fill();
    announce(
      `Sorted by ${this.columns[index]!.title}, ${this.isDescending ? "descending" : "ascending"}`,
    );
  }

  private showAll(): void {
    this.isWhole = true;
    this.fill();
  }

  private fill(): void {
    const column = this.columns[this.sorted];
    const rows = column
      ? [...this.rows].sort((a, b) => compareKeys(column.key(a), column.key(b), this.isDescending))
      : this.rows;
    const limit = this.isWhole ? rows.length : (this.options.limit ?? rows.length);
    for (const [index, header] of this.headers.entries()) {
      if (index === this.sorted)
        header.setAttribute("aria-sort", this.isDescending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    }
    this.body.replaceChildren(...rows.slice(0, limit).map((row) => this.row(row)));
    this.more.hidden = rows.length <= limit;
    this.more.textContent = `Show all ${rows.length} rows`;
    this.missing.hidden = rows.length <= limit;
    this.missing.textContent = `${limit} of ${rows.length} rows are printed. To print all, show them first.`;
  }

  private row(row: Row): HTMLElement {
    return h(
      "tr",
      {},
      ...this.columns.map((column) => {
        const text = column.text(row);
        return h(
          column.isRowHeader ? "th" : "td",
          {
            scope: column.isRowHeader ? "row" : undefined,
            class: `${classOf(column)}${column.isBad?.(row) ? " bad" : ""}`,
          },
          column.press
            ? button(text, `${column.title} ${text}`, () => column.press!(row))
            : column.kind === "code"
              ? h("code", { title: text }, text)
              : text,
        );
      }),
    );
  }
}
