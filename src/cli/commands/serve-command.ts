import type { Command } from 'commander'
import { exitCodes } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { serveHelp } from '../help.ts'
import { readServeArguments } from './serve.ts'

/** In the tree for its help; its arguments are read by serveCommand. */
export function addServeCommand(program: Command): void {
  const serve = program.command('serve').description('run the service')
  serve.helpInformation = serveHelp
}

export async function serveCommand(args: string[], io: CommandIo): Promise<number> {
  const read = readServeArguments(args, io.environment)
  switch (read.kind) {
    case 'help':
      await io.stdout.write(serveHelp())
      return exitCodes.done
    case 'problems':
      for (const problem of read.problems) void io.stderr.write(`wellhead: ${problem}\n`)
      return exitCodes.usage
    case 'serve': {
      // Not before it is needed: other commands begin much sooner without the whole service.
      const { runService } = await import('./run-service.ts')
      return runService(read.settings, read.demo, io)
    }
  }
}
