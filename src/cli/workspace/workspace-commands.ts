import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import type { CheckOptions } from './check-files.ts'
import type { TestOptions } from './test-workspace.ts'

/** Commands for endpoint files that need no running service. Their actions are loaded on use. */
export function defineInit(init: Command, io: CommandIo): void {
  init
    .argument('[directory]', 'new workspace directory', '.')
    .action(async (directory: string) =>
      (await import('./create-workspace.ts')).createWorkspace(resolve(io.cwd, directory), directory, io),
    )
  addExamples(init, 'wellhead init', 'wellhead init shop')
}

export function defineCheck(check: Command, io: CommandIo): void {
  check
    .argument('[directory]', 'workspace directory', '.')
    .option('--strict', 'fail on warnings, too')
    .option('--fix', 'write a new id into endpoint files that have none')
    .option('--json', 'print JSON')
    .action(async (directory: string, options: CheckOptions) =>
      (await import('./check-files.ts')).checkFiles(directory, options, io),
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
      (await import('./test-workspace.ts')).testWorkspace(directory, options, io),
    )
  addExamples(test, 'wellhead test', 'wellhead test --filter usage', 'wellhead test --update')
}
