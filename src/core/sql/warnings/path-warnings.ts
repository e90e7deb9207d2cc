import { columnNameOf, maxTypedColumns } from '../../../shared/column-names.ts'
import { keysOf } from '../../../shared/path-text.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { isAggregate } from '../functions.ts'
import { columnRead, metadata, typeFor } from '../metadata-path.ts'
import { pathSql } from '../names.ts'
import type { ColumnsOf, FoundPath } from '../paths.ts'
import type { Query } from '../query.ts'
import { clauseOf } from '../scopes.ts'
import { identifierOf, isSymbol } from '../tokens.ts'
import type { Finding } from './warning.ts'

export type PathTypes = ReadonlyMap<string, readonly string[]>

/** What the newest entries of a source contain. */
export interface SourceSample {
  /** Number of entries from the sampled days. */
  readonly entries: number
  /** Paths of values in metadata, with dots between the levels and %2E for a dot inside of a key, and the engine's types of the values. */
  readonly paths: PathTypes
}

/** Reads entries. Never fails: what cannot be read in time is not known. */
export interface SampledSources {
  /** Undefined if it is not known. */
  sample(source: string): Promise<SourceSample | undefined>
  /** Which of these paths occur in entries of the sampled days; undefined if that is not known. */
  present(source: string, paths: readonly (readonly string[])[]): Promise<readonly boolean[] | undefined>
}

/** Reading a path takes about half a microsecond per entry. */
export const manyEntries = 100_000

/** A longer query is not checked to its end. */
const maxPaths = 500

/** The form of paths that a typed column can have. */
const columnPath = /^[A-Za-z_][\w-]*(?:(?:\.|%2E)[A-Za-z_][\w-]*)*$/

interface ReadPath extends FoundPath {
  place: NonNullable<FoundPath['place']>
}

/** Warnings about paths that depend on the entries of the sources. */
export async function pathWarnings(
  query: Query,
  columnsOf: ColumnsOf,
  sampled: SampledSources,
): Promise<Finding[]> {
  const paths = query.paths.flatMap((found): ReadPath[] => {
    const { place, isColumn } = found
    return place && !isColumn && columnsOf(place.source) ? [{ ...found, place }] : []
  })
  paths.splice(maxPaths)
  const sources = [...new Set(paths.map(({ place }) => place.source))]
  const findings = sources.map(async (source) => {
    const sample = await sampled.sample(source)
    if (!sample || sample.entries === 0) return []
    const own = paths.filter(({ place }) => place.source === source)
    const columns = columnsOf(source) ?? []
    const expected = withParents([...sample.paths.keys(), ...columns.map(({ path }) => path)])
    const unknown = firstOfEach(own).filter(({ place }) => !expected.has(place.path))
    const keys = unknown.map(({ path }) => path.steps[0] ?? [])
    const present = unknown.length > 0 ? await sampled.present(source, keys) : []
    const missing = unknown.filter((_, index) => present?.[index] === false)
    const slow =
      sample.entries < manyEntries || columns.length >= maxTypedColumns
        ? []
        : firstOfEach(own.filter((found) => isReadForEach(query, found))).filter(
            ({ place, path }) =>
              path.steps.length === 1 &&
              isScalar(sample.paths.get(place.path)) &&
              columnPath.test(place.path) &&
              columns.every((column) => column.path !== place.path),
          )
    return [
      ...missing.map((found) => unknownPath(found, sample)),
      ...slow.map((found) => slowPath(found, sample)),
    ]
  })
  return (await Promise.all(findings)).flat()
}

/** The paths, and those of the objects that they are in. */
function withParents(paths: readonly string[]): Set<string> {
  return new Set(
    paths.flatMap((path) => [path, ...[...path.matchAll(/\./g)].map(({ index }) => path.slice(0, index))]),
  )
}

function firstOfEach(paths: readonly ReadPath[]): ReadPath[] {
  const seen = new Set<string>()
  return paths.filter(({ place }) => seen.size < seen.add(place.path).size)
}

const isScalar = (types: readonly string[] = ['']) =>
  types.every((type) => /^(?:String|Bool|U?Int\d+|Float\d+)$/.test(type))

function unknownPath({ path, place }: ReadPath, { paths }: SourceSample): Finding {
  const closest = closestPath(place.path, paths.keys())
  const help = didYouMean(closest && writtenPath(closest))
  const message = `No recent entry of ${place.source} has ${writtenPath(place.path)}.${help}`
  return { code: 'unknown_path', message, at: path.first }
}

function slowPath({ path, place }: ReadPath, { paths }: SourceSample): Finding {
  const type = typeFor(paths.get(place.path) ?? [])
  const kind = type === 'Nullable(Float64)' ? 'number' : 'text'
  const column = `${columnNameOf(place.path)}=${place.path}${kind === 'number' ? ',number' : ''}`
  const isAnswered = columnRead(kind, '', '', path.cast?.type ?? '') !== undefined
  const message =
    `${writtenPath(place.path)} is read from the JSON text of each entry, and ${place.source} has many. ` +
    `${isAnswered ? 'Add' : `Read it as ${writtenPath(place.path)}::${type}, and add`} a typed column with: ` +
    `wellhead source update ${place.source} --column ${column}`
  return { code: 'slow_path', message, at: path.first }
}

/** False in the list of the final SELECT if it does not aggregate: only rows that are returned need the value. */
function isReadForEach(query: Query, { path, scope }: ReadPath): boolean {
  if (!scope) return false
  if (scope.parent !== undefined) return true
  const item = scope.items.find(({ first, end }) => path.first >= first && path.first < end)
  if (!item || clauseOf(scope, 'GROUP')) return true
  return isInAggregate(query, path.first)
}

function isInAggregate({ tokens, brackets }: Query, at: number): boolean {
  for (let open = brackets[at] ?? -1; open >= 0; open = brackets[open] ?? -1) {
    let name = open - 1
    // quantile(0.9)(…) has two pairs of brackets.
    if (isSymbol(tokens[name], ')')) name = (brackets[name - 1] ?? 0) - 1
    if (isAggregate(identifierOf(tokens[name]) ?? '')) return true
  }
  return false
}

/** Others are not suggested: senders choose them, and a whole sentence can be one. */
const namedPath = /^(?:[\p{L}\p{N}_.:$@/-]|%2E){1,100}$/u

/** The path that a mistyped one most likely means. */
export function closestPath(typed: string, known: Iterable<string>): string | undefined {
  const paths = [...known].filter((path) => namedPath.test(path) || path === typed)
  const corrected = correctedKeys(typed.split('.'), paths)
  if (corrected !== undefined) return corrected
  // The right key in the wrong place.
  const endingWith = (keys: string) => paths.filter((path) => `.${withDots(path)}`.endsWith(`.${keys}`))
  const [whole, last] = [endingWith(typed), endingWith(lastKey(typed))]
  const [inOtherPlace, ...more] = whole.length > 0 ? whole : last
  return more.length === 0 ? inOtherPlace : undefined
}

/** Corrects one key after the other, each among those that follow the corrected ones before it. */
function correctedKeys(keys: readonly string[], paths: readonly string[]): string | undefined {
  let corrected = ''
  for (const key of keys) {
    const following = paths.filter((path) => path.startsWith(corrected))
    const candidates = new Set(following.map((path) => path.slice(corrected.length).split('.')[0] as string))
    // status for status_code, if only one key is so similar.
    const [longer, ...more] = [...candidates].filter((each) => key.length > 2 && each.startsWith(key))
    const found = candidates.has(key) ? key : (closestName(key, candidates) ?? (more[0] ? undefined : longer))
    if (found === undefined) return undefined
    corrected += `${found}.`
  }
  return corrected.slice(0, -1)
}

const writtenPath = (path: string) => pathSql(metadata, keysOf(path), '')

const withDots = (path: string) => keysOf(path).join('.')

export const lastKey = (path: string) => withDots(path).replace(/^.*\./s, '')
