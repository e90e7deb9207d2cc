import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Template, templates } from '../../workspace/authoring/new-workspace.ts'
import { addExamples, addServiceAction, addServiceOptions } from '../command.ts'
import { type CommandIo, usageFailure } from '../command-io.ts'
import type { CheckOptions, TestOptions } from './check-and-test.ts'
import type { DeployOptions, DiffOptions } from './deploy.ts'
import type { PullOptions } from './pull.ts'

/** Commands for endpoint files. Their actions are loaded on use. */
export function defineInit(init: Command, io: CommandIo): void {
  init
    .argument('[directory]', 'new workspace directory', '.')
    .addOption(
      new Option('--template <name>', 'what the first endpoints read').choices(templates).default('supabase'),
    )
    .action(async (directory: string, options: { template: Template }) =>
      (await import('./new-files.ts')).createWorkspace(resolve(io.cwd, directory), directory, options, io),
    )
  addExamples(init, 'wellhead init', 'wellhead init shop --template nginx')
}

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

export function defineDiff(diff: Command, io: CommandIo): void {
  addServiceOptions(diff)
    .argument('[directory]', 'workspace directory', '.')
    .option('--exit-code', 'exit with 1 if anything differs')
    .option('--overwrite', 'do not fail if somebody else changed what would be deployed')
    .option('--json', 'print JSON')
  addServiceAction(diff, io, {
    examples: ['wellhead diff', 'wellhead diff --url https://wellhead.example.com'],
    request: async (client, directory: string, options: DiffOptions) =>
      (await import('./deploy.ts')).diff(client, directory, options),
  })
}

export function defineDeploy(deploy: Command, io: CommandIo): void {
  addServiceOptions(deploy)
    .argument('[directory]', 'workspace directory', '.')
    .option('--dry-run', 'show what would be deployed')
    .option('--breaking', 'deploy changes that break callers')
    .option('--overwrite', 'replace versions of others that this workspace has not seen')
    .option('--strict', 'deploy nothing if there are warnings')
    .option(
      '--replay [mode]',
      'compare the rows of recent requests before and after; --replay=strict deploys nothing if they differ',
      replayMode,
    )
    .option('--show-values', 'show parameters and differing rows of replayed requests')
    .option('--prune', 'delete endpoints, alerts and dashboards that no file has, except shipped ones')
    .option('--yes', 'delete without asking for confirmation')
    .option('--note <text>', 'why, stored with each new version')
    .option('--json', 'print JSON')
  addServiceAction(deploy, io, {
    examples: [
      'wellhead deploy --dry-run',
      'wellhead deploy --strict --replay=strict',
      'wellhead deploy --breaking --note "Drop the column old_status"',
      'wellhead deploy --prune',
    ],
    request: async (client, directory: string, options: DeployOptions) =>
      (await import('./deploy.ts')).deploy(client, directory, options),
  })
}

function replayMode(value: string): 'strict' {
  if (value === 'strict') return value
  throw new InvalidArgumentError('The only mode is strict. Write the directory before --replay.')
}

export function definePull(pull: Command, io: CommandIo): void {
  addServiceOptions(pull)
    .argument(
      '[name]',
      'name of what to write, with what it uses (default: all that is not shipped unchanged with the service)',
    )
    .option('--all', 'also endpoints that are shipped with the service, except wellhead.*')
    .option('--force', 'replace files that differ from the service')
    .option('--directory <directory>', 'workspace directory', '.')
  addServiceAction(pull, io, {
    examples: ['wellhead pull', 'wellhead pull usage.api-counts', 'wellhead pull --all --force'],
    request: async (client, name: string | undefined, options: PullOptions) => {
      if (name !== undefined && options.all) throw usageFailure('Use either a name or --all.')
      const { pullFiles } = await import('./pull.ts')
      return { files: await pullFiles(name, client, options) }
    },
    print: async ({ files }, _name, { all }) => {
      for (const { file, action } of files) await io.stdout.write(`${action} ${file}\n`)
      if (files.length > 0) return
      const advice = all ? '' : ' Use --all for what is shipped with the service.'
      await io.stderr.write(`Nothing to pull.${advice}\n`)
    },
  })
}
