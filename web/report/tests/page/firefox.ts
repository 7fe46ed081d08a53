// Controls Debian's Firefox through Marionette, the protocol of Firefox's test tools: JSON
// messages, each preceded by its length, over a local connection. Playwright supports only its
// own Firefox.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

// Uses a free port, fetches nothing, and opens no other window.
const SETTINGS = {
  "marionette.port": 0,
  "app.update.disabledForTesting": true,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.enabled": false,
};

type Answer = [kind: number, id: number, error: { message: string } | null, result: unknown];

export class Firefox {
  private received = Buffer.alloc(0);
  private readonly answers: Answer[] = [];
  private arrived = () => {};
  private sent = 0;

  private constructor(
    private readonly program: ChildProcess,
    private readonly socket: Socket,
    private readonly profile: string,
  ) {
    socket.on("data", (bytes) => this.receive(bytes));
  }

  static async start(): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), "spoor-firefox-"));
    const settings = Object.entries(SETTINGS).map(
      ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`,
    );
    writeFileSync(join(profile, "user.js"), settings.join(""));
    const program = spawn(
      FIREFOX,
      [
        "--headless",
        "--marionette",
        "--remote-allow-system-access",
        "--no-remote",
        "--profile",
        profile,
      ],
      { env: { ...process.env, HOME: profile, MOZ_DISABLE_CONTENT_SANDBOX: "1" }, stdio: "ignore" },
    );
    const file = join(profile, "MarionetteActivePort");
    while (!existsSync(file) || readFileSync(file, "utf8") === "") {
      if (program.exitCode !== null) throw new Error(`Firefox exited with ${program.exitCode}`);
      await pause(50);
    }
    const socket = connect(Number(readFileSync(file, "utf8")), "127.0.0.1");
    await once(socket, "connect");
    const firefox = new Firefox(program, socket, profile);
    await firefox.ask("WebDriver:NewSession");
    return firefox;
  }

  private receive(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes]);
    for (;;) {
      const colon = this.received.indexOf(":");
      const end = colon + 1 + Number(this.received.subarray(0, Math.max(colon, 0)));
      if (colon < 0 || this.received.length < end) return;
      const message = JSON.parse(this.received.subarray(colon + 1, end).toString());
      this.received = this.received.subarray(end);
      if (Array.isArray(message)) this.answers.push(message as Answer); // the first message is a greeting
      this.arrived();
    }
  }

  private async ask(command: string, parameters: object = {}): Promise<unknown> {
    const id = ++this.sent;
    const text = JSON.stringify([0, id, command, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    while (this.answers.length === 0)
      await new Promise<void>((resolve) => {
        this.arrived = resolve;
      });
    const [, , error, result] = this.answers.shift()!;
    if (error) throw new Error(`${command}: ${error.message}`);
    return result;
  }

  async open(url: string): Promise<void> {
    await this.ask("WebDriver:Navigate", { url });
  }

  // Returns the value of a script that runs in the page or in the browser itself.
  async evaluate<T>(script: string, context: "content" | "chrome" = "content"): Promise<T> {
    await this.ask("Marionette:SetContext", { value: context });
    const result = await this.ask("WebDriver:ExecuteScript", { script, args: [] });
    await this.ask("Marionette:SetContext", { value: "content" });
    return (result as { value: T }).value;
  }

  // Returns errors and warnings about a page.
  async complaints(url: string): Promise<string[]> {
    const all = await this.evaluate<string[]>(
      "return Services.console.getMessageArray().map((message) => message.toString())",
      "chrome",
    );
    return all.filter((message) => message.includes(url));
  }

  async stop(): Promise<void> {
    const ended = once(this.program, "exit");
    await this.ask("Marionette:Quit", { flags: ["eForceQuit"] });
    await ended;
    this.socket.destroy();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
