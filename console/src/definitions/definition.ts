/** What definitions of every kind have. */
export interface Definition {
  id: string
  name: string
  version: number
  updated_at: string
  updated_by: string
  updated_by_name: string | null
  note?: string | null
}

/** A kind of definitions: `T` as the API returns it, `D` as people edit it. */
export interface Kind<T extends Definition, D extends object> {
  /** In the paths of the API and of the console. */
  path: string
  /** `endpoint` */
  one: string
  /** The fields that can be edited. */
  draftOf: (saved: T) => D
  /** Fields that are changed elsewhere, which versions show as well. */
  besides?: (saved: T) => object
  /** The field with SQL, where there is one. */
  sql?: keyof D & string
}

export const pageOf = ({ path }: { path: string }, name: string): string =>
  `/console/${path}/${encodeURIComponent(name)}`

export function changedFields<D extends object>(one: D, other: D): (keyof D)[] {
  const names = Object.keys(one) as (keyof D)[]
  return names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
}

/** Applies the changes that a draft made to its base to a newer version. */
export function rebased<D extends object>(draft: D, base: D, newer: D): D {
  const own = changedFields(draft, base).map((name) => [name, draft[name]] as const)
  return { ...newer, ...Object.fromEntries(own) }
}

interface FieldChange {
  field: string
  /** As text; undefined where the field is not set. */
  before: string | undefined
  after: string | undefined
}

/** The differences between two versions except for the SQL. Parameters are compared by name. */
export function fieldChanges(before: object, after: object, sql?: string): FieldChange[] {
  const one = leaves(before)
  const other = leaves(after)
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((field) => field !== sql && one.get(field) !== other.get(field))
    .map((field) => ({ field, before: one.get(field), after: other.get(field) }))
}

function leaves(fields: object): Map<string, string> {
  const { parameters = {}, ...others } = fields as Record<string, unknown>
  const found = new Map(Object.entries(others).map(([name, value]) => [name, shown(value)]))
  for (const [name, parameter] of Object.entries(parameters as object)) {
    if (typeof parameter !== 'object' || parameter === null) {
      found.set(`@${name}`, shown(parameter))
      continue
    }
    const parts = Object.entries(parameter)
    if (parts.length === 0) found.set(`@${name}`, 'declared')
    for (const [part, value] of parts) found.set(`@${name} ${part}`, shown(value))
  }
  return found
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)
}
