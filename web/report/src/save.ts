// Downloads and the clipboard.

import { announce, button, h } from "./dom";

export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Converts any text to a file name.
export function fileName(title: string, suffix: string): string {
  const safe = title.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${safe.slice(0, 60) || "report"}${suffix}`;
}

// For pages in a frame without access to the clipboard.
function copyBySelection(text: string): boolean {
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

export function copyButton(text: () => string): HTMLButtonElement {
  const element = button("Copy", "Copy these lines", async () => {
    const isCopied = await copy(text());
    element.textContent = isCopied ? "Copied" : "Not copied: select the lines";
    announce(element.textContent);
    setTimeout(() => {
      element.textContent = "Copy";
    }, 1500);
  });
  return element;
}
