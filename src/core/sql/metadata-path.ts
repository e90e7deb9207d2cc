import { sqlText } from './names.ts'
import type { SelectScope } from './scopes.ts'
import { type CodeToken, closingOf, identifierOf, isKeyword, isSymbol, type TokenRange } from './tokens.ts'

export const metadata = 'metadata'

/** A path of metadata in SQL, such as "e.metadata.request.path". */
export type MetadataPath = NonNullable<ReturnType<typeof pathAt>>

interface PathCast extends TokenRange {
  type: string
}

export function pathAt(
  sql: string,
  tokens: readonly CodeToken[],
  first: number,
  /** Whether a table in scope is called metadata. */
  isTable: boolean,
) {
  const isPart = (at: number) => isSymbol(tokens[at], '.') && identifierOf(tokens[at + 1]) !== undefined
  // The column is the first part with this name, after at most a database and a table.
  let column = isTable && identifierOf(tokens[first]) === metadata && isPart(first + 1) ? first + 2 : first
  while (identifierOf(tokens[column]) !== metadata) {
    if (!isPart(column + 1) || column >= first + 4) return undefined
    column += 2
  }
  let at = column + 1
  const keys: string[] = []
  const steps = [keys]
  for (;;) {
    if (isPart(at)) steps.at(-1)?.push(identifierOf(tokens[at + 1]) as string)
    else if (keys.length > 0 && isSymbol(tokens[at], '[') && isSymbol(tokens[at + 1], ']')) steps.push([])
    else break
    at += 2
  }
  if (keys.length === 0 || isSymbol(tokens[at], '(')) return undefined
  const start = tokens[first]?.start
  const path = {
    first,
    end: at,
    /** The table before the column and its dot, as the author wrote them: "e.", or nothing. */
    qualifier: column === first ? '' : sql.slice(start, tokens[column - 1]?.end),
    column: sql.slice(start, tokens[column]?.end),
    /** Keys of objects, one list per array on the way. */
    steps,
  }
  const written = castOf(tokens, path)
  // A cast with whose type the value can be read directly.
  return { ...path, written, cast: written && isDirect(written.type) ? written : undefined }
}

/** The type to read values of these types of the engine with. Undefined for lists of objects, which have paths of their own. */
export function typeFor(types: readonly string[]): string | undefined {
  const all = (type: RegExp) => types.length > 0 && types.every((each) => type.test(each))
  if (all(/^(?:U?Int|Float)\d+$/)) return 'Nullable(Float64)'
  if (all(/^Bool$/)) return 'Nullable(Bool)'
  if (all(/^Array\((?:Nullable\()?String\b/)) return 'Array(String)'
  return all(/^Array\(JSON\b/) ? undefined : 'Nullable(String)'
}

function typeAt(tokens: readonly CodeToken[], at: number): { type: string; end: number } | undefined {
  if (identifierOf(tokens[at]) === undefined) return undefined
  const end = isSymbol(tokens[at + 1], '(') ? closingOf(tokens, at + 1) + 1 : at + 1
  const texts = tokens.slice(at, end).map(({ text }) => text)
  return { type: texts.join(''), end }
}

/** Types for which JSONExtract returns the same as a cast of the engine's JSON type, and fails for no value. */
const typedCast =
  /^(?:(?:Nullable\()?(?:String|Float(?:32|64)|U?Int(?:8|16|32|64))\)?|LowCardinality\((?:String|Nullable\(String\))\)|Array\(String\))$/

const isDirect = (type: string) => typedCast.test(type) && type.split('(').length === type.split(')').length

function castOf(
  tokens: readonly CodeToken[],
  { first, end, steps }: TokenRange & { steps: readonly string[][] },
): PathCast | undefined {
  if (steps.length > 1) return undefined
  if (isSymbol(tokens[end], ':') && isSymbol(tokens[end + 1], ':')) {
    const cast = typeAt(tokens, end + 2)
    return cast && { ...cast, first }
  }
  if (!isKeyword(tokens[first - 2], 'CAST') || !isSymbol(tokens[first - 1], '(')) return undefined
  if (isSymbol(tokens[first - 3], '.')) return undefined
  const name = isSymbol(tokens[end], ',') && tokens[end + 1]?.kind === 'string' ? tokens[end + 1] : undefined
  const cast = name
    ? { type: name.text.slice(1, -1), end: end + 2 }
    : isKeyword(tokens[end], 'AS')
      ? typeAt(tokens, end + 1)
      : undefined
  if (!cast || !isSymbol(tokens[cast.end], ')')) return undefined
  return { type: cast.type, first: first - 2, end: cast.end + 1 }
}

/** Integers that a Float64 holds exactly. */
const narrow = /^(?:Nullable\()?(U?Int(?:8|16|32))\)?$/

/** A number as a smaller integer; null or 0 if it does not fit. */
function narrowed(number: string, type: string, integer: string): string {
  return `accurateCastOr${type === integer ? 'Default' : 'Null'}(trunc(${number}), '${integer}')`
}

/** The SQL that reads a cast path from its typed column. Undefined if the column does not have exactly the same values. */
export function columnRead(kind: 'text' | 'number', column: string, rest: string, type: string) {
  const [, inner] = /^LowCardinality\((.+)\)$/.exec(type) ?? []
  const reads: Record<string, string> =
    kind === 'text'
      ? { String: column, 'Nullable(String)': `if(${rest}, ${column}, NULL)` }
      : {
          Float64: `ifNull(ifNull(${column}, ${rest}), 0)`,
          'Nullable(Float64)': `ifNull(${column}, ${rest})`,
        }
  const read = reads[inner ?? type]
  if (read !== undefined) return inner === undefined ? read : `CAST(${read}, '${type}')`
  const integer = kind === 'number' ? narrow.exec(type)?.[1] : undefined
  return integer && narrowed(`ifNull(${column}, ${rest})`, type, integer)
}

export function pathExpression({ column, steps, cast }: MetadataPath): string {
  const last = (from: string, keys: readonly string[]) => {
    const integer = narrow.exec(cast?.type ?? '')?.[1]
    if (cast && integer) return narrowed(extract(from, keys, 'Nullable(Float64)'), cast.type, integer)
    return extract(from, keys, cast?.type ?? 'Dynamic')
  }
  const read = (from: string, level: number): string => {
    const keys = steps[level] as string[]
    if (level === steps.length - 1) return last(from, keys)
    // The path ends with the array itself.
    if (steps[level + 1]?.length === 0 && level === steps.length - 2) {
      return extract(from, keys, 'Array(JSON)')
    }
    const item = `metadata_item_${level + 1}`
    return `arrayMap(${item} -> ${read(item, level + 1)}, JSONExtractArrayRaw(${[from, ...keys.map(sqlText)].join(', ')}))`
  }
  return read(column, 0)
}

function extract(from: string, keys: readonly string[], type: string): string {
  return `JSONExtract(${[from, ...keys.map(sqlText), sqlText(type)].join(', ')})`
}

/** The table that qualifies a path, as the author wrote it. */
export function tableNameOf({ qualifier }: MetadataPath): string {
  return qualifier.replace(/\.$/, '').trimEnd()
}

/** The name that the engine gives to a result column. The table is part of it only for later tables of a join. */
export function columnNameOf(path: MetadataPath, scope?: SelectScope): string {
  const { steps, qualifier } = path
  const isFirst = !scope || scope.tables.length < 2 || scope.tables[0]?.qualifier === tableNameOf(path)
  const [keys = [], ...arrays] = steps
  const parts = [
    `${isFirst ? '' : qualifier}${metadata}`,
    ...keys,
    ...arrays.flatMap((inner) => [':`Array(JSON)`', ...inner]),
  ]
  return parts.join('.')
}
