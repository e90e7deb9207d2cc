import type { Command } from 'commander'
import { flagOf, settingDefinitions, settingNames } from '../base/settings.ts'

/** Under the list of commands. */
export const startHere = `
Start here:
  wellhead serve
  It listens on http://127.0.0.1:4000, keeps everything in ./data, and at its first start prints the admin
  token with a call to try it with. Other commands find it by themselves; --url and --token, or WELLHEAD_URL
  and WELLHEAD_TOKEN, name another.

Exit codes:
  0 done   1 failed, or the check found something   2 not understood
`

/** Shows how a command is used, under its options. */
export function addExamples(command: Command, ...examples: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
}

export function serveHelp(): string {
  const rows = settingNames.map((name) => {
    const { env, description, default: preset } = settingDefinitions[name]
    return `  --${flagOf(name)} <value>\n      ${description}\n      ${env}${preset === undefined ? '' : `, default ${preset}`}`
  })
  return `wellhead serve: run the service.

Usage
  wellhead serve [--port 4000] [--data-dir ./data] …

Each setting is a flag or a variable of the environment; the flag wins. Secrets belong in the environment,
since other users of a machine can see flags.

Options
  --demo
      Sample traffic of three projects: seven days of history at once, then some each second.

Settings
${rows.join('\n')}

Signals
  SIGTERM or SIGINT: takes nothing new, finishes what runs, keeps everything acknowledged, ends with 0.
  A second one ends at once.

Exit codes
  0 stopped as asked   1 could not start or broke down   2 settings or flags that cannot be read
`
}
