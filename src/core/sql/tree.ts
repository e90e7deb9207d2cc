import { invalidQuery } from '../base/errors.ts'

type SqlValue = string | number | boolean

export interface SqlText {
  readonly sql: string
  readonly parameters?: Readonly<Record<string, SqlValue | readonly SqlValue[] | null>>
}

export interface ParseLimits {
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  readonly asReader?: boolean
}

/** The part of the engine that parsing needs. */
export interface SqlParser {
  query(
    statement: SqlText & { format: string; settings: Readonly<Record<string, number>> },
    limits: ParseLimits,
  ): Promise<{ readonly body: Buffer }>
}

export interface SqlNode {
  readonly depth: number
  readonly kind: string
  readonly name: string
  readonly alias: string | undefined
  readonly parent: SqlNode | undefined
  readonly children: SqlNode[]
}

/** A flat list of terms is a deep tree, and the engine indents each line by its depth. */
const treeSettings = { max_ast_depth: 500, max_ast_elements: 20_000 }

/** The engine's syntax tree, root first. EXPLAIN AST only parses: nothing of the statement runs. */
export async function parseSql(
  engine: SqlParser,
  { sql, parameters }: SqlText,
  limits: ParseLimits = { deadlineMs: 10_000 },
): Promise<SqlNode[]> {
  const { body } = await engine.query(
    {
      sql: `EXPLAIN AST ${sql}`,
      ...(parameters && { parameters }),
      format: 'TabSeparatedRaw',
      settings: treeSettings,
    },
    { ...limits, asReader: true },
  )
  return readTree(body.toString())
}

const frame = ['SelectWithUnionQuery', 'ExpressionList', 'SelectQuery', 'ExpressionList', 'Asterisk']
const tables = ['TablesInSelectQuery', 'TablesInSelectQueryElement', 'TableExpression', 'Subquery']

/** Parses one SELECT, in brackets on lines of their own, so that nothing can follow it. */
export async function parseSelect(
  engine: SqlParser,
  statement: SqlText,
  limits?: ParseLimits,
): Promise<SqlNode[]> {
  const nodes = await parseSql(engine, { ...statement, sql: `SELECT * FROM (\n${statement.sql}\n)` }, limits)
  const around = nodes.splice(0, frame.length + tables.length)
  const root = nodes[0]
  if (
    root?.kind !== 'SelectWithUnionQuery' ||
    around.map(({ kind }) => kind).join() !== [...frame, ...tables].join() ||
    nodes.some(({ depth }) => depth < root.depth)
  ) {
    throw invalidQuery('Only one SELECT is allowed.')
  }
  return nodes
}

export function readTree(text: string): SqlNode[] {
  const nodes: SqlNode[] = []
  const open: SqlNode[] = []
  // Without regular expressions: there can be megabytes of white space.
  for (const line of text.split('\n')) {
    if (line === '') continue
    let depth = 0
    while (line[depth] === ' ') depth++
    const space = line.indexOf(' ', depth)
    const kindEnd = space < 0 ? line.length : space
    open.length = Math.min(open.length, depth)
    const parent = open.at(-1)
    const { name, alias } = nameAndAlias(line.slice(kindEnd + 1))
    const node: SqlNode = { depth, kind: line.slice(depth, kindEnd), name, alias, parent, children: [] }
    parent?.children.push(node)
    open.push(node)
    nodes.push(node)
  }
  // The engine appends the format and the settings of its own output.
  for (const kind of ['Identifier', 'Set']) {
    const last = nodes.at(-1)
    if (last?.depth !== 1 || last.kind !== kind) continue
    nodes.pop()
    last.parent?.children.pop()
  }
  return nodes
}

/** A literal can contain any text, so the last alias counts. checkTokens refuses names that look like an alias. */
function nameAndAlias(rest: string): Pick<SqlNode, 'name' | 'alias'> {
  if (!rest.endsWith(')')) return { name: rest, alias: undefined }
  const text = rest.replace(/ ?\(children \d+\)$/, '')
  const at = text.lastIndexOf('(alias ')
  if (at < 0 || !text.endsWith(')')) return { name: text, alias: undefined }
  return { name: text.slice(0, at).trimEnd(), alias: text.slice(at + '(alias '.length, -1) }
}

/** Arguments of a function. */
export function argumentsOf(node: SqlNode): SqlNode[] {
  return node.children[0]?.children ?? []
}
