import { createTwoFilesPatch } from 'diff'
import { z } from 'zod'
import { OperatorError } from '../base/operator-error.ts'
import { firstProblem } from '../base/validation.ts'
import { shippedBy } from '../definitions/definitions.ts'
import type { DefinitionFields, FileKind } from './kinds/file-kind.ts'
import type { DefinitionFile } from './workspace.ts'

export interface ServiceDefinition {
  kind: FileKind
  fields: DefinitionFields
  id: string
  version: number
  /** Whether the service created it, and nobody changed it since. */
  isShipped: boolean
}

/** A definition of a response, without the fields that only the service sets. */
export function readServiceDefinition(kind: FileKind, view: object): ServiceDefinition {
  const { id, name, version, updated_by } = view as Record<'id' | 'name' | 'updated_by', string> & {
    version: number
  }
  try {
    return { kind, fields: kind.fieldsOf(view), id, version, isShipped: updated_by === shippedBy }
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const { field, message } = firstProblem(error)
    throw new OperatorError(
      `Cannot read ${kind.folder}/${name} of the service: ${field} ${message}. ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  }
}

/** A file, compared with the definition of the service that has the same id, or the same name if files have no ids. */
export interface ComparedFile extends DefinitionFile {
  current: ServiceDefinition | undefined
  /** Empty if both are equal. */
  diff: string
}

export interface Comparison {
  files: ComparedFile[]
  onlyOnService: ServiceDefinition[]
}

type Keyed = Pick<ServiceDefinition, 'kind' | 'fields'>

export function keyOf({ kind, fields }: Keyed): string {
  return `${kind.folder}/${fields.id ?? fields.name}`
}

/** As lists show it. */
export function titleOf({ kind, fields }: Keyed): string {
  return `${kind.label}${fields.name}`
}

export function compareWithService(
  definitions: readonly DefinitionFile[],
  service: readonly ServiceDefinition[],
): Comparison {
  const byKey = new Map(service.map((each) => [keyOf(each), each]))
  const keys = new Set(definitions.map(keyOf))
  return {
    files: definitions.map((file) => {
      const current = byKey.get(keyOf(file))
      return { ...file, current, diff: diffOf(file, current) }
    }),
    onlyOnService: service.filter(
      (each) => !each.kind.isReserved(each.fields.name) && !keys.has(keyOf(each)),
    ),
  }
}

/** Both sides are written the same way, so that only meaningful differences show. */
function diffOf({ kind, file, fields }: DefinitionFile, current: ServiceDefinition | undefined): string {
  const [before, after] = [current ? kind.write(current.fields) : '', kind.write(fields)]
  if (current && before === after) return ''
  const from = current ? `service/${current.fields.name} (version ${current.version})` : 'not on the service'
  return createTwoFilesPatch(from, file, before, after, '', '', { context: 3 }).replace(/^=====.*\n/gm, '')
}

/** What a deployment deletes because no file has it. A workspace without files of a kind does not manage that kind. */
export function prunedOf({ files, onlyOnService }: Comparison): ServiceDefinition[] {
  return onlyOnService.filter(
    ({ kind, isShipped }) => kind.prunes && !isShipped && files.some((file) => file.kind === kind),
  )
}

interface PulledFile {
  file: string
  content: string
  action: 'written' | 'replaced' | 'unchanged'
  /** Files whose content is lost: this file, and a file with another name that has the same definition. */
  loses: string[]
}

/** The files that match what a service has. An equivalent file keeps its content. */
export function pullPlan(
  local: readonly DefinitionFile[],
  /** All existing files, including unreadable ones. */
  existing: ReadonlySet<string>,
  pulled: readonly ServiceDefinition[],
): PulledFile[] {
  const byKey = new Map(local.map((each) => [keyOf(each), each]))
  return pulled.map((definition): PulledFile => {
    const { kind, fields } = definition
    const before = byKey.get(keyOf(definition))
    const isSameName = before?.fields.name === fields.name
    const file = isSameName ? before.file : `${kind.folder}/${fields.name}${kind.suffix}`
    const content = kind.write(fields)
    if (isSameName && kind.write(before.fields) === content) {
      return { file, content, action: 'unchanged', loses: [] }
    }
    const loses = new Set([...(before ? [before.file] : []), ...(existing.has(file) ? [file] : [])])
    return { file, content, action: loses.size > 0 ? 'replaced' : 'written', loses: [...loses] }
  })
}
