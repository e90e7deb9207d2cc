import type { Command } from 'commander'
import { addExamples } from '../kit/command.ts'
import type { CommandIo } from '../kit/command-io.ts'
import type { CheckOptions, TestOptions } from './check-and-test.ts'

/** The actions are imported on demand: they load the service, which help and completion do not need. */
export function defineCheck(check: Command, io: CommandIo): void {
  check
    .argument('[directory]', 'workspace directory', '.')
    .option('--strict', 'fail on warnings, too')
    .option('--fix', 'write a new id into endpoint files that have none')
    .option('--json', 'print JSON')
    .action(async (directory: string, options: CheckOptions) =>
      (await import('./check-and-test.ts')).checkFiles(directory, options, io),
    )
  addExamples(check, 'wellhead check', 'wellhead check shop --json', 'wellhead check --strict')
}

export function defineTest(test: Command, io: CommandIo): void {
  test
    .argument('[directory]', 'workspace directory', '.')
    .option('--filter <text>', 'only tests whose endpoint or name contains this text')
    .option('--update', 'save the returned rows as the expected rows')
    .option('--json', 'print JSON')
    .action(async (directory: string, options: TestOptions) =>
      (await import('./check-and-test.ts')).testWorkspace(directory, options, io),
    )
  addExamples(test, 'wellhead test', 'wellhead test --filter usage', 'wellhead test --update')
}
