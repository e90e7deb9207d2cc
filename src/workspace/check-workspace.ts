import { OperatorError } from '../base/operator-error.ts'
import type { DeployedDefinition } from '../definitions/step.ts'
import { declareAdvice, type FileProblem, type FileWarning, sortProblems } from './file-problem.ts'
import type { DefinitionFields, FileKind, Finding } from './kinds/file-kind.ts'
import { fileKinds } from './kinds/file-kinds.ts'
import type { ServiceError, TemporaryService } from './temporary-service.ts'
import type { DefinitionFile, Workspace } from './workspace.ts'

/** Definitions of all kinds, or what a deployment did to them. */
export type ByKind<T> = Record<string, T[]>

/** Finds everything that a service would reject. */
export async function checkWorkspace(workspace: Workspace, service: TemporaryService) {
  const { problems, deployed } = await deployFiles(workspace, service, { dry_run: true })
  const warnings = workspace.definitions.flatMap((file) => warningsOf(file, deployed[file.kind.folder] ?? []))
  return { problems: sortProblems([...workspace.problems, ...problems]), warnings: sortProblems(warnings) }
}

/** Deploys what the service accepts, and reports the rest. What needs a rejected definition is left out. */
export async function deployFiles(
  { definitions, problems: unreadable }: Pick<Workspace, 'definitions' | 'problems'>,
  service: TemporaryService,
  terms: { dry_run?: boolean; fieldsOf?: (file: DefinitionFile) => DefinitionFields },
): Promise<{ problems: FileProblem[]; deployed: ByKind<DeployedDefinition> }> {
  const { fieldsOf = ({ kind, fields }) => kind.offline?.(fields) ?? fields, ...rest } = terms
  const rejected = new Set(unreadable.map(({ file }) => file.replace(/\.\w+$/, '')))
  const problems: FileProblem[] = []
  for (let files = definitions; ; ) {
    files = files.filter((file) => {
      const isUsable =
        !rejected.has(nameOf(file)) && !file.kind.refersTo(file.fields).some((name) => rejected.has(name))
      if (!isUsable) rejected.add(nameOf(file))
      return isUsable
    })
    const response = await service.deploy({
      ...byKind(files, fieldsOf),
      ...rest,
    })
    if (!('error' in response)) return { problems, deployed: response.deployed }
    const found = problemOf(files, response.error)
    if (!found) throw new OperatorError(response.error.message)
    problems.push(found)
    rejected.add(response.error.definition ?? '')
  }
}

/** As errors of deployments name it. */
function nameOf({ kind, fields }: Pick<DefinitionFile, 'kind' | 'fields'>): string {
  return `${kind.folder}/${fields.name}`
}

/** As deployments have them. */
export function byKind<Item extends { kind: FileKind }, T>(
  items: readonly Item[],
  make: (item: Item) => T,
): ByKind<T> {
  return Object.fromEntries(
    fileKinds.map((kind) => [kind.folder, items.filter((item) => item.kind === kind).map(make)]),
  )
}

/** An error of a deployment, at its place. Undefined if it is not about one of the files. */
export function problemOf(files: readonly DefinitionFile[], error: ServiceError): FileProblem | undefined {
  const found = files.find((file) => nameOf(file) === error.definition)
  if (!found) return undefined
  const prefix = `${found.fields.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  const [, unknown] = /^Unknown source "([a-z][a-z0-9_]*)"/.exec(message) ?? []
  const advice = unknown === undefined ? '' : ` ${declareAdvice(unknown)}`
  // It starts with the kind and the index.
  const parameter = error.parameter?.split('.').slice(2).join('.')
  return { file: found.file, ...found.positionOf({ ...error, parameter }), message: message + advice }
}

export function warningsOf(
  { file, fields, positionOf }: DefinitionFile,
  deployed: readonly { name: string; warnings: readonly Finding[] }[],
): FileWarning[] {
  const found = deployed.find(({ name }) => name === fields.name)?.warnings ?? []
  return sortProblems(
    found.map((warning) => ({ file, ...positionOf(warning), code: warning.code, message: warning.message })),
  )
}
