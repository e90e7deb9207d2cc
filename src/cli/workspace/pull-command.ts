import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import writeFileAtomic from 'write-file-atomic'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import {
  pullPlan,
  readServerEndpoints,
  type ServerEndpoint,
  UnreadableEndpoint,
} from '../../workspace/deployment-plan.ts'
import { readEndpointFiles } from '../../workspace/workspace.ts'
import { sourceFileOf } from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceClient } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { endpointList, sourceList } from '../service-responses.ts'

export function addPullCommand(program: Command, io: CommandIo): void {
  const pull = addServiceCommand(program, 'pull', 'write the endpoints of a service to files')
    .argument('[directory]', 'workspace directory', '.')
    .option('--force', 'replace files that differ from the service')
  addServiceAction(pull, io, {
    examples: ['wellhead pull', 'wellhead pull --force'],
    request: async (client, directory: string, { force }: { force?: true }) => ({
      files: await pullFiles(resolve(io.cwd, directory), client, force === true),
    }),
    print: async ({ files }) => {
      for (const { file, action } of files) await io.stdout.write(`${action} ${file}\n`)
    },
  })
}

async function pullFiles(directory: string, client: ServiceClient, force: boolean) {
  const { endpoints, problems } = readEndpointFiles(directory)
  const existing = new Set([...endpoints, ...problems].map(({ file }) => file))
  const plan = pullPlan(endpoints, existing, await fetchEndpoints(client))
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  mkdirSync(join(directory, 'endpoints'), { recursive: true })
  for (const { file, action, content } of plan) {
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
  }
  const written = new Set(plan.map(({ file }) => file))
  for (const file of lost) if (!written.has(file)) rmSync(join(directory, file))
  const sources = await pullSources(directory, client)
  return [...plan.map(({ file, action }) => ({ file, action })), ...sources]
}

/** Adds files for the service's own sources, which "wellhead check" needs; existing files are kept. */
async function pullSources(directory: string, client: ServiceClient) {
  const sources = await client.json('GET', '/api/sources', sourceList)
  const files = sources
    .filter(({ name }) => !isBuiltIn(name))
    .map(sourceFileOf)
    .filter(({ file }) => !existsSync(join(directory, file)))
  if (files.length > 0) mkdirSync(join(directory, 'sources'), { recursive: true })
  for (const { file, content } of files) writeFileAtomic.sync(join(directory, file), content)
  return files.map(({ file }) => ({ file, action: 'written' }))
}

export async function fetchEndpoints(client: ServiceClient): Promise<ServerEndpoint[]> {
  const views = await client.json('GET', '/api/endpoints', endpointList)
  try {
    return readServerEndpoints(views)
  } catch (error) {
    throw error instanceof UnreadableEndpoint ? new CommandFailure(error.message) : error
  }
}
