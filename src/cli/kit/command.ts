import { type Command, InvalidArgumentError } from 'commander'
import { formatDuration, parseDuration } from '../../core/base/text/duration.ts'
import { isoText, parseIsoInstant } from '../../shared/timestamps.ts'
import type { CommandIo } from './command-io.ts'
import type { ServiceChoice } from './find-service.ts'
import { printJson } from './output/print.ts'
import { ServiceClient } from './service-client.ts'

export const startHere = `
Start here:
  wellhead serve
  The service listens on http://127.0.0.1:4000 and stores its data in ./data. The first start prints the admin
  token and requests to try. Other commands find this service automatically; to choose another one, use --url
  and --token, or WELLHEAD_URL and WELLHEAD_TOKEN.

Exit codes:
  0 success   1 failure, or a check found problems   2 invalid arguments or settings
`

export function addExamples(command: Command, ...examples: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
}

export function addServiceCommand(parent: Command, name: string, description: string): Command {
  return addServiceOptions(parent.command(name).description(description))
}

export function addServiceOptions(command: Command): Command {
  return command
    .option('--url <url>', 'service URL (default: WELLHEAD_URL, else a local service)')
    .option('--token <token>', 'access token (default: WELLHEAD_TOKEN, else the local admin token)')
    .option(
      '--data-dir <directory>',
      'data directory of a local service (default: WELLHEAD_DATA_DIR or ./data)',
    )
}

interface ServiceAction<A extends readonly unknown[], T> {
  examples: readonly string[]
  /** Receives the command's arguments and, last, its options. */
  request: (client: ServiceClient, ...args: A) => Promise<T>
  /** Prints the result for people, and adds --json; without it, the request prints its own output. */
  print?: (result: T, ...args: [...A]) => Promise<void>
}

/** Adds the action of a command: find the service, send the request, print the result. */
export function addServiceAction<A extends readonly unknown[], T>(
  command: Command,
  io: CommandIo,
  { examples, request, print }: ServiceAction<A, T>,
): void {
  if (print) command.option('--json', 'print JSON')
  addExamples(command, ...examples)
  command.action(async (...all: unknown[]) => {
    // Commander appends the command itself.
    const args = all.slice(0, -1) as unknown as A
    const options = args.at(-1) as ServiceChoice & { json?: true }
    const result = await request(new ServiceClient(options, io), ...args)
    if (print) await (options.json ? printJson(io, result) : print(result, ...args))
  })
}

/** The latest time that Date can represent. */
const maxDateMs = 8.64e15

export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Collects name=value pairs into an object; the value may contain equals signs. */
export function collectPair(
  value: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const [name, text] = pairOf(value)
  if (before && Object.hasOwn(before, name)) throw new InvalidArgumentError(`${name} is set twice.`)
  // Unlike an assignment, this creates an own property for the name __proto__, too.
  return Object.fromEntries([...Object.entries(before ?? {}), [name, text]])
}

/** Like `collectPair`, but a repeated name has a list of values. */
export function collectValues(
  value: string,
  before: Readonly<Record<string, string | string[]>> | undefined,
): Record<string, string | string[]> {
  const [name, text] = pairOf(value)
  const known = before && Object.hasOwn(before, name) ? before[name] : undefined
  const next: string | string[] = known === undefined ? text : [known, text].flat()
  return Object.fromEntries([...Object.entries(before ?? {}), [name, next]])
}

function pairOf(value: string): [name: string, text: string] {
  const at = value.indexOf('=')
  if (at < 1) throw new InvalidArgumentError(`"${value}" must be name=value.`)
  return [value.slice(0, at), value.slice(at + 1)]
}

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

export const versionNumber = wholeNumber(1, 999_999_999)

/** Parses a duration such as 1d, or a number of seconds; returns seconds. */
export function durationSeconds(min: number, max: number): (value: string) => number {
  return (value) => {
    const seconds = /^\d{1,9}$/.test(value) ? Number(value) : (parseDuration(value) ?? Number.NaN)
    if (seconds >= min && seconds <= max) return seconds
    throw new InvalidArgumentError(
      `It must be a duration from ${formatDuration(min)} to ${formatDuration(max)}, such as 30m, 12h or 1d.`,
    )
  }
}

/** Parses a duration from now or before now, such as 30d, or an ISO 8601 time; returns ISO 8601. */
export function instant(nowMs: () => number, direction: 'future' | 'past'): (value: string) => string {
  const sign = direction === 'future' ? 1 : -1
  return (value) => {
    const seconds = parseDuration(value)
    const ms = nowMs() + sign * (seconds ?? 0) * 1000
    const micros = seconds === undefined ? parseIsoInstant(value) : BigInt(ms) * 1000n
    if (micros !== undefined && Math.abs(ms) <= maxDateMs) return isoText(micros)
    throw new InvalidArgumentError('It must be a time such as 30d, 12h, or 2027-01-31T12:00:00Z.')
  }
}
