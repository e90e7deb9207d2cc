import type { Command } from 'commander'

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
