// Creates elements. Text is always set as text: no data is parsed as HTML.

type Child = Node | string | null | undefined | false;

export interface Properties {
  class?: string;
  id?: string;
  style?: string;
  title?: string;
  on?: Record<string, (event: Event) => void>;
  [attribute: string]: unknown;
}

function set(element: HTMLElement, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on")
      for (const [event, listener] of Object.entries(value as NonNullable<Properties["on"]>))
        element.addEventListener(event, listener);
    else if (name === "style") element.style.cssText = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, properties);
  for (const child of children) if (child) element.append(child);
  return element;
}

export function button(
  text: string,
  label: string,
  press: () => void,
  properties: Properties = {},
): HTMLButtonElement {
  return h(
    "button",
    {
      type: "button",
      "aria-label": label === text ? undefined : label,
      on: { click: press },
      ...properties,
    },
    text,
  );
}

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  const heading = `${id}-title`;
  return h(
    "section",
    { id, "aria-labelledby": heading },
    h("h2", { id: heading }, title),
    ...children,
  );
}

// Creates a table that scrolls horizontally. Its classes show at which ends there are more
// columns.
export function scrollArea(label: string, table: HTMLElement): HTMLElement {
  const area = h("div", {
    class: "table-scroll",
    role: "region",
    "aria-label": label,
    tabindex: "0",
  });
  const update = () => {
    const { scrollLeft, clientWidth, scrollWidth } = area;
    area.classList.toggle("more-before", scrollLeft > 0);
    area.classList.toggle("more-after", scrollLeft + clientWidth < scrollWidth - 1);
  };
  area.append(table);
  area.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  observer.observe(area);
  observer.observe(table);
  return area;
}

// Announces text to screen readers when the keyboard changes the page.
export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}
