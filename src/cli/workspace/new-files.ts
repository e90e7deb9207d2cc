import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../base/files/make-directory.ts'
import { definitionShape, isReserved } from '../../endpoints/definition/definition.ts'
import { newEndpointFiles, parametersOf } from '../../workspace/authoring/new-endpoint.ts'
import { newWorkspaceFiles } from '../../workspace/authoring/new-workspace.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { readSql, valuesOf } from '../commands/sql-command.ts'
import { openWorkspace } from './findings.ts'

export interface NewOptions {
  query: string
  parameter?: Record<string, string>
}

export async function writeEndpoint(
  name: string,
  shown: string,
  options: NewOptions,
  io: CommandIo,
): Promise<void> {
  const values = valuesOf(options.parameter ?? {})
  refuseName(name)
  const { directory, fixtures } = openWorkspace(shown, io)
  const query = await readSql(options.query, undefined, io)
  if (!definitionShape.shape.query.safeParse(query).success) throw usageFailure('The query is empty.')
  const used = parametersOf(query)
  const unused = Object.keys(values).find((parameter) => !used.includes(parameter))
  if (unused !== undefined) throw usageFailure(`The query does not use @${unused}.`)
  const nowMs = io.clock.now()
  const files = Object.entries(newEndpointFiles({ name, id: randomUUID(), query, values, nowMs }, fixtures))
  const existing = files.map(([file]) => file).filter((file) => existsSync(join(directory, file)))
  if (existing.length > 0) {
    const exist = existing.length === 1 ? 'exists' : 'exist'
    throw new CommandFailure(`${existing.join(' and ')} already ${exist}; nothing was written.`)
  }
  await writeNewFiles(directory, files, io)
  const there = shown === '.' ? '' : `cd ${shown} && `
  await io.stdout.write(`Try it: ${there}wellhead check --strict && wellhead test --update\n`)
}

function refuseName(name: string): void {
  const parsed = definitionShape.shape.name.safeParse(name)
  if (!parsed.success) throw usageFailure(`The name ${parsed.error.issues[0]?.message}.`)
  if (isReserved(name)) {
    throw usageFailure('Names that start with "wellhead." are reserved for endpoints of the service.')
  }
}

export async function createWorkspace(directory: string, shown: string, io: CommandIo): Promise<void> {
  const exists = (file: string) => existsSync(join(directory, file))
  // An existing repository keeps its own README.md and .gitignore.
  const files = Object.entries(newWorkspaceFiles(randomUUID())).filter(
    ([file]) => file.includes('/') || !exists(file),
  )
  const used = [...new Set(files.map(([file]) => file.split('/')[0] as string))].filter(
    (name) => exists(name) && readdirSync(join(directory, name)).length > 0,
  )
  if (used.length > 0) {
    throw new CommandFailure(`${directory} already contains ${used.join(', ')}; nothing was written.`)
  }
  await writeNewFiles(directory, files, io)
  await io.stdout.write(`Try it: ${shown === '.' ? '' : `cd ${shown} && `}wellhead test\n`)
}

async function writeNewFiles(directory: string, files: readonly [string, string][], io: CommandIo) {
  for (const [file, content] of files) {
    makeDirectory(dirname(join(directory, file)))
    // Never replaces a file, even one that was created in the meantime.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
}
