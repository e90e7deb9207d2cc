import type { Command } from 'commander'
import { flagOf, settingDefinitions, settingNames } from '../base/settings.ts'

/** Shown below the list of commands. */
export const startHere = `
Start here:
  wellhead serve
  The service listens on http://127.0.0.1:4000 and stores its data in ./data. The first start prints the admin
  token and a request to try. Other commands find this service automatically; to choose another one, use --url
  and --token, or WELLHEAD_URL and WELLHEAD_TOKEN.

Exit codes:
  0 success   1 failure, or a check found problems   2 invalid arguments or settings
`

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

Each setting is a flag or an environment variable; flags take precedence. Set secrets in the environment, because other
users of a machine can see flags.

Options
  --demo
      Send sample traffic of three projects: seven days of history, then new entries every second.

Settings
${rows.join('\n')}

Signals
  SIGTERM or SIGINT: stop accepting requests, finish running ones, and exit with 0. A second signal exits immediately.

Exit codes
  0 stopped by a signal   1 failed   2 invalid flags or settings
`
}
