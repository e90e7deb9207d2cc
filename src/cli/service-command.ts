import type { Command } from 'commander'
import type { CommandIo } from './command-io.ts'
import type { ServiceChoice } from './find-service.ts'
import { addExamples } from './help.ts'
import { printJson } from './output/print.ts'
import { ServiceClient } from './service-client.ts'

/** Creates a command with the flags that choose a service. */
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
