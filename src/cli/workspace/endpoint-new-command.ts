import type { Command } from 'commander'
import { collectPair } from '../arguments.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import type { NewOptions } from './write-endpoint.ts'

export function addEndpointNew(endpoint: Command, io: CommandIo): void {
  const command = endpoint
    .command('new')
    .description('write the files of a new endpoint and its test to a workspace; needs no service')
    .argument('<name>', 'name of the endpoint')
    .argument('[directory]', 'workspace directory', '.')
    .option('--query <sql>', 'SQL of the endpoint; "-" reads standard input (default: an example)')
    .option(
      '-p, --parameter <name=value>',
      'example of a parameter of the SQL, which also sets its type; repeatable',
      collectPair,
    )
    .action(async (name: string, directory: string, options: NewOptions) =>
      (await import('./write-endpoint.ts')).writeEndpoint(name, directory, options, io),
    )
  addExamples(
    command,
    'wellhead endpoint new paths.busiest',
    'wellhead endpoint new paths.slowest --query - -p hours=24 < slowest.sql',
  )
}
