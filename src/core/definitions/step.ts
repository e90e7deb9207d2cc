import { breakingChange, invalidParameter, WellheadError } from '../base/errors.ts'
import type { CatalogChange } from '../catalog/catalog-state.ts'
import type { Warning } from '../sql/warnings/warning.ts'
import type { DefinitionChange, Kind, Prepared, Saved } from './kind.ts'

/** What one request wants of one definition. */
export interface Wanted {
  kind: Kind
  id: string
  current: Saved | undefined
  /** Undefined: to delete it. */
  fields: Record<string, unknown> | undefined
  /** Where a deployment has it. */
  place?: { index: number; name: string | undefined }
}

export interface Step extends Wanted {
  name: string
  action: 'created' | 'updated' | 'unchanged' | 'deleted'
  /** That the catalog has after the change, also of a deletion. */
  version: number
  changes: DefinitionChange[]
  prepared: Prepared
  /** What the catalog stores. */
  body: object
  after: Saved | undefined
}

export type DeployedDefinition = Awaited<ReturnType<typeof shownStep>>

export async function shownStep({ name, id, action, version, changes, prepared, after }: Step) {
  const warnings: Warning[] = (await prepared.warnings?.()) ?? []
  return { name, id, action, version: after ? version : version - 1, changes, warnings, ...prepared.shown }
}

/** What the catalog stores. A definition that stays the same is no change. */
export function catalogChanges(steps: readonly Step[]): CatalogChange[] {
  return steps
    .filter(({ action }) => action !== 'unchanged')
    .map(({ kind, id, version, after, body }) => {
      return { kind: kind.name, id, version, deleted: after === undefined, body }
    })
}

export interface Refused {
  /** `hidden`: only changes that hide entries. */
  which: 'breaking' | 'hidden'
  remedy: string
}

export function refuseBreaking(steps: readonly Step[], refused: Refused | undefined): void {
  if (refused === undefined) return
  const isRefused = ({ breaking, entries }: DefinitionChange) =>
    breaking && (refused.which === 'breaking' || entries !== undefined)
  // Callers know the name from before.
  const found = steps.flatMap(({ name, current, kind, changes }) =>
    changes.filter(isRefused).map((change) => ({ ...placeOf(kind, current?.name ?? name), ...change })),
  )
  if (found.length > 0) throw breakingChange(found, refused.remedy)
}

function placeOf({ name: kind, folder }: Kind, name: string) {
  return { definition: `${folder}/${name}`, ...(kind === 'endpoint' && { endpoint: name }) }
}

/** In the end every name and id must be unique. */
export async function refuseRepeated(wanted: readonly Wanted[]): Promise<void> {
  for (const [at, each] of wanted.entries()) {
    const { kind, id, fields } = each
    const earlier = wanted.slice(0, at).filter((other) => other.kind === kind)
    const field = earlier.some((other) => other.id === id)
      ? 'id'
      : earlier.some((other) => fields && other.fields && other.fields.name === fields.name)
        ? 'name'
        : undefined
    if (field === undefined) continue
    const value = field === 'id' ? id : String(fields?.name)
    const message = `Several ${kind.folder} have the ${field} ${value}. Use each ${field} once.`
    await naming(each, () => {
      throw invalidParameter(field, message)
    })
  }
}

/** Errors of a deployment say which definition is wrong. */
export async function naming<T>({ kind, place }: Pick<Wanted, 'kind' | 'place'>, work: () => T | Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (!place || !(error instanceof WellheadError)) throw error
    const { index, name } = place
    const { parameter, ...details } = error.details
    const path = `${kind.folder}.${index}`
    throw new WellheadError(error, `${name ?? path}: ${error.message}`, {
      details: {
        ...details,
        ...(parameter !== undefined && index >= 0 && { parameter: `${path}.${parameter}` }),
        ...(name === undefined ? { definition: path } : placeOf(kind, name)),
      },
      ...(error.retryAfterSeconds !== undefined && { retryAfterSeconds: error.retryAfterSeconds }),
      cause: error.cause,
    })
  }
}
