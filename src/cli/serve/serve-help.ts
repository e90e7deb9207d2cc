import { flagOf, settingDefinitions, settingNames, variableOf } from '../../base/settings.ts'

export function serveHelp(): string {
  const rows = settingNames.map((name) => {
    const { description, default: preset } = settingDefinitions[name]
    return `  --${flagOf(name)} <value>\n      ${description}\n      ${variableOf(name)}${preset === undefined ? '' : `, default ${preset}`}`
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
