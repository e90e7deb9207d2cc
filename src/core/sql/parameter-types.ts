import type { ColumnsOf } from './paths.ts'
import type { Query } from './query.ts'
import { identifierOf, isKeyword, isSymbol } from './tokens.ts'

type InferredType = 'string' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'regex'

/** How far from a parameter its use is looked for. */
const reach = 300

const operator = String.raw`(?:[=<>!]{1,2}|\bBETWEEN(?: +\S+ +AND)?|\bI?LIKE)\s*`
const cast = String.raw`::(?:Nullable\(|LowCardinality\()*(\w+)\)*`
const value = String.raw`(@?\w+(?:\(\))?|-?\d[\d.]*|'[^']*')`
const comparedBefore = new RegExp(`(?:${cast}|${value})\\s*${operator}$`, 'i')
const comparedAfter = new RegExp(`^\\s*${operator}(?:[\\w.\`]+${cast}|${value})`, 'i')
const argument = String.raw`(?:[^(),]|\([^()]*\))*,\s*$`

/** What comes before a parameter of each type. */
const uses: readonly (readonly [RegExp, InferredType])[] = [
  [/\b(?:LIMIT|OFFSET|INTERVAL)\s+$/i, 'integer'],
  [/\b(?:toInterval\w+|toU?Int\d+|numbers|range)\(\s*$/i, 'integer'],
  [new RegExp(String.raw`\b(?:(?:add|subtract)\w+s|round|floor|ceil)\(${argument}`, 'i'), 'integer'],
  [new RegExp(String.raw`\b(?:match|extract|extractAll|replaceRegexp\w+)\(${argument}`, 'i'), 'regex'],
]

const values: readonly (readonly [RegExp, InferredType])[] = [
  [/^(?:U?Int\d*|-?\d+|count\(\))$/i, 'integer'],
  [/^(?:Float\d*|Decimal\d*|-?\d*\.\d+)$/i, 'number'],
  [/^Bool$/i, 'boolean'],
  [/^(?:timestamp|@now|DateTime\d*)$/i, 'timestamp'],
  [/^(?:String|project|id|event_message|'.*')$/is, 'string'],
]

/** The types of parameters, as far as their use in the SQL tells them. */
export function inferredTypes(query: Query, columnsOf: ColumnsOf = () => undefined) {
  const { sql, tokens } = query
  const columns = [...query.possibleSources].flatMap((source) => columnsOf(source) ?? [])
  const typeOf = (text: string): InferredType | undefined => {
    const column = columns.find(({ name }) => name === text)
    if (column) return column.type === 'number' ? 'number' : 'string'
    return values.find(([pattern]) => pattern.test(text))?.[1]
  }
  const found = new Map<string, InferredType | undefined>()
  for (const { kind, start, end, text } of tokens) {
    if (kind !== 'parameter') continue
    const [before, after] = [sql.slice(Math.max(0, start - reach), start), sql.slice(end, end + reach)]
    const operands = [
      ...[comparedBefore.exec(before), comparedAfter.exec(after)].flatMap((match) => match?.slice(1) ?? []),
      new RegExp(`^${cast}`, 'i').exec(after)?.[1],
    ]
    const types = [
      uses.find(([pattern]) => pattern.test(before))?.[1],
      ...operands.map((operand) => operand && typeOf(operand)),
    ]
    const name = text.slice(1)
    for (const type of types)
      if (type) found.set(name, agreed(found.has(name) ? found.get(name) : type, type))
  }
  return new Map([...found].flatMap(([name, type]) => (type ? [[name, type] as const] : [])))
}

/** Parameters that the SQL uses as lists, with the type of their values: on the right of IN, and in functions that take an array. */
export function usedAsLists(query: Query, columnsOf: ColumnsOf = () => undefined) {
  const { sql, tokens, parameters } = query
  const types = inferredTypes(query, columnsOf)
  const columns = [...query.possibleSources].flatMap((source) => columnsOf(source) ?? [])
  const isNumeric = (at: number) => {
    const operand = isKeyword(tokens[at - 2], 'NOT') ? at - 3 : at - 2
    const column = columns.find(({ name }) => name === identifierOf(tokens[operand]))
    const text = sql.slice(Math.max(0, (tokens[operand]?.end ?? 0) - reach), tokens[operand]?.end)
    return column?.type === 'number' || /::(?:Nullable\()?(?:U?Int|Float|Decimal)\d*\)?$/i.test(text)
  }
  const lists = new Map<string, 'string' | 'number'>()
  for (const [name, uses] of parameters) {
    for (const at of uses) {
      const [before, open, after] = [identifierOf(tokens[at - 2]), tokens[at - 1], tokens[at + 1]]
      const isCall = (names: RegExp, end: string) =>
        names.test(before ?? '') && isSymbol(open, '(') && isSymbol(after, end)
      const isIn = isKeyword(open, 'IN')
      // Text can be empty, too.
      const isList =
        isIn || isCall(/^has(?:Any|All)?$/, ',') || (isCall(/^(?:not)?empty$/i, ')') && !types.has(name))
      if (isList)
        lists.set(name, (isIn && isNumeric(at)) || lists.get(name) === 'number' ? 'number' : 'string')
    }
  }
  return lists
}

const nullTest = /@(\w+) IS (?:NOT )?NULL\b|\bis(?:Not)?Null \( @(\w+)/gi

/** Parameters that the SQL compares with null, so that it works without them. */
export function nullTested({ tokens }: Query): Set<string> {
  const code = tokens.map(({ kind, text }) => (kind === 'string' ? "''" : text)).join(' ')
  return new Set([...code.matchAll(nullTest)].map(([, before, inside]) => (before ?? inside) as string))
}

/** Undefined if two uses tell different types. */
function agreed(one: InferredType | undefined, other: InferredType): InferredType | undefined {
  if (one === other) return one
  return [one, other].every((type) => type === 'integer' || type === 'number') ? 'number' : undefined
}
