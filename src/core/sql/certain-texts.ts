import { isAggregate } from './functions.ts'
import type { Query } from './query.ts'
import { type CodeToken, identifierOf, isAlias, isKeyword, isSymbol, type TokenRange } from './tokens.ts'

/** Functions whose texts are valid UTF-8 if those of their arguments are: they cut nothing but at characters. */
const functions = words(
  'and or not xor if multiIf ifNull nullIf coalesce assumeNotNull toNullable isNull isNotNull equals notEquals less greater',
  'lessOrEquals greaterOrEquals greatest least clamp in notIn plus minus multiply divide intDiv modulo negate abs sign',
  'round floor ceil trunc sqrt pow exp log log2 log10 cast toString toBool toTypeName toJSONString toLowCardinality',
  'identity materialize transform length lengthUTF8 empty notEmpty concat concat_ws concatWithSeparator format',
  'formatReadableSize formatReadableQuantity formatReadableTimeDelta lower upper lcase ucase lowerUTF8 upperUTF8',
  'initcapUTF8 caseFoldUTF8 leftUTF8 rightUTF8 substringUTF8 reverseUTF8 leftPadUTF8 rightPadUTF8 overlayUTF8',
  'toValidUTF8 replace replaceAll replaceOne splitByChar firstLine arrayStringConcat like ilike notLike notILike match',
  'hex base64Encode hasToken domain domainWithoutWWW topLevelDomain protocol path pathFull cutQueryString isValidJSON',
  'cityHash64 sipHash64 generateUUIDv4 generateUUIDv7 formatDateTime date_trunc date_diff dateDiff dateTrunc dateName',
  'monthName toMonday timeSlot toTimezone toYYYYMM toYYYYMMDD toLastDayOfMonth now now64 today yesterday array arrayJoin',
  'arrayMap arrayFilter arrayElement arrayElementOrNull arrayConcat arrayDistinct arrayUniq arraySort arrayReverseSort',
  'arraySlice arrayExists arrayAll arrayCount arrayFirst arrayLast arrayFlatten arrayEnumerate arrayZip arrayMin arrayMax',
  'arraySum arrayAvg has hasAny hasAll indexOf range tuple tupleElement map mapKeys mapValues mapContains mapFromArrays',
  'mapFilter mapApply mapAdd mapSubtract mapUpdate mapConcat JSONAllPaths JSONAllPathsWithTypes JSONAllValues numbers row_number rank dense_rank',
)

const families = [
  /^to(u?int\d+|float(32|64)|decimal(32|64|128|256)|date|date32|datetime|datetime64|uuid|ipv[46])(or(null|zero|default))?$/,
  /^(add|subtract|tointerval|to(startof|relative)?)?(nano|micro|milli)?(second|minute|hour|day|week|month|quarter|year|interval)(num)?s?$/,
  /^(from|to)unixtimestamp(64(second|milli|micro|nano))?$/,
  /^parsedatetime(32|64)?(besteffort(us)?)?(or(null|zero))?$/,
  /^jsonextract(bool|string|int|uint|float|raw|arrayraw|keys|keysandvalues|keysandvaluesraw)?(caseinsensitive)?$/,
  /^(json(has|length|type))$/,
  /^(position|countsubstrings|startswith|endswith|multisearchany|multimatchany)(caseinsensitive)?(utf8)?$/,
]

/** What can stand before a bracket without being a function: keywords, and types with arguments. */
const noFunctions = words(
  'select distinct from where prewhere having qualify with as on using over partition by order group limit offset all any',
  'and or not in exists between like ilike is case when then else end except intersect union join interval columns',
  'nullable lowcardinality decimal datetime datetime64 json enum8 enum16 variant array tuple map nested string',
)

function words(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.toLowerCase().split(' ')))
}

/** Names of columns whose texts are certainly valid UTF-8. */
export type CertainTexts = Pick<ReadonlySet<string>, 'has'>

/** Stored texts are valid, so a query can return others only through functions and literals that make bytes. */
export function certainTexts(query: Query): CertainTexts {
  const { tokens } = query
  const makers = tokens.flatMap((_, at) => (mayMakeBytes(tokens, at) ? [at] : []))
  if (makers.length === 0) return { has: () => true }
  const final = query.scopes.of[tokens.length - 1]
  const [table, ...others] = final?.tables ?? []
  const readsSource =
    final?.certain === true &&
    final.depth === 0 &&
    final.first === 0 &&
    table?.name !== undefined &&
    others.length === 0 &&
    !query.subqueriesBy.has(table.name) &&
    !tokens.some((token) => isKeyword(token, 'INTERPOLATE'))
  if (!readsSource) return { has: () => false }
  const bytesIn = ({ first, end }: TokenRange) => makers.some((at) => at >= first && at < end)
  const aliases = new Set(
    tokens.flatMap((_, at) => (isAlias(tokens, at) ? (identifierOf(tokens[at]) ?? []) : [])),
  )
  const isStored = (name: string) => /^\w+$/.test(name) && !aliases.has(name)
  const items = final.items.filter((item) => !bytesIn(item))
  const isAll = items.some(({ first, end }) => end === first + 1 && isSymbol(tokens[first], '*'))
  const selected = new Set(
    items.flatMap(({ first, end }) => (end === first + 1 ? (identifierOf(tokens[first]) ?? []) : [])),
  )
  return { has: (name) => isStored(name) && (isAll || selected.has(name)) }
}

function mayMakeBytes(tokens: readonly CodeToken[], at: number): boolean {
  const { kind, text, start } = tokens[at] as CodeToken
  // Types that cut texts, in casts and in the names of types.
  if (/fixedstring|binary/i.test(text)) return true
  if (kind === 'string') {
    const before = tokens[at - 1]
    const isHex = before?.end === start && /^[xb]$/i.test(before.text)
    return isHex || /\\x/i.test(text)
  }
  if (isKeyword(tokens[at], 'APPLY')) return true
  const name = identifierOf(tokens[at])?.toLowerCase()
  if (name === undefined || !isSymbol(tokens[at + 1], '(')) return false
  const isKnown = functions.has(name) || noFunctions.has(name) || families.some((family) => family.test(name))
  // States are bytes.
  return !isKnown && !(isAggregate(name) && !name.includes('state'))
}
