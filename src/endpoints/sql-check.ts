import { invalidQuery } from '../base/errors.ts'
import { sqlTokens } from '../base/sql-tokens.ts'
import type { Engine, Statement } from '../engine/engine.ts'

/** Table functions that make rows of nothing. */
const generators = new Set([
  'numbers',
  'numbers_mt',
  'zeros',
  'zeros_mt',
  'generate_series',
  'generateseries',
  'values',
])

/** Functions that reach out of the query: files, network, other tables, the server, the clock of others. */
const forbiddenFunctions = [
  /^dict/,
  /^joinget/,
  /^file/,
  /^url$/,
  /^filesystem/,
  /^hascolumnintable$/,
  /^get(macro|serverport|serversetting|mergetreesetting|setting|settingordefault|oskernelversion|clienthttpheader|maxtablename.*|querykind)/,
  /^(hostname|fqdn|fullhostname|tcpport|serveruuid|servertimezone|uptime|displayname|buildid|zookeepersessionuptime)$/,
  /^(current|initial)_?(user|roles|database|profiles|query.*|schemas)$/,
  /^(user|authenticateduser|query_id|initial_query_id|database|schema|region.*|enabledroles|enabledprofiles|defaultroles|defaultprofiles|queryid|initialqueryid|connectionid|connection_id)$/,
  /^sleep/,
  /^(addressto|demangle|trap|throwif$)/,
  /^(evalmlmethod|modelevaluate|catboostevaluate|naivebayesclassifier|lemmatize|synonyms)$/,
  /^(showcertificate|structureto|formatquery|runningconcurrency|rownumberinallblocks|logtrace)/,
  /^(nested|viewifpermitted|merge|remote|cluster|input|executable|s3|hdfs|mysql|postgresql|mongodb|sqlite|odbc|jdbc)$/,
]

const comparesWithTable = /^(global)?(not)?(null)?in(ignoreset)?$/

interface Node {
  depth: number
  kind: string
  /** What stands behind the kind: the name of a function, table or column. */
  name: string
}

/**
 * Refuses SQL that is not one SELECT over sources and generators. It looks at the engine's own syntax tree,
 * from EXPLAIN AST, which only parses: nothing of the statement runs.
 */
export async function checkSql(
  engine: Engine,
  statement: Pick<Statement, 'sql' | 'parameters'>,
  sources: ReadonlySet<string>,
): Promise<void> {
  const { sql, parameters } = statement
  const { body } = await engine.query(
    { sql: `EXPLAIN AST ${sql}`, ...(parameters && { parameters }), format: 'TabSeparatedRaw' },
    { deadlineMs: 10_000 },
  )
  const nodes = body.toString().split('\n').filter(Boolean).map(readNode)
  if (nodes[0]?.kind !== 'SelectWithUnionQuery') throw invalidQuery('Only one SELECT is allowed.')
  const tables = new Set([...sources, ...commonTableNames(sql)])
  for (const [index, node] of nodes.entries()) checkNode(node, nodes, index, tables)
}

function readNode(line: string): Node {
  const [, indent = '', kind = '', rest = ''] = /^( *)(\S*) ?(.*)$/.exec(line) ?? []
  return { depth: indent.length, kind, name: rest.replace(/ ?\((?:children|alias) .*$/, '') }
}

function checkNode(node: Node, nodes: Node[], index: number, tables: ReadonlySet<string>): void {
  switch (node.kind) {
    case 'Set':
      throw invalidQuery('SETTINGS are not allowed in saved SQL.')
    case 'TableIdentifier':
      checkTable(node.name, tables)
      break
    case 'Function':
      checkFunction(node, nodes, index, tables)
      break
    default:
      if (node.kind.endsWith('ApplyTransformer')) throw invalidQuery('APPLY is not allowed in saved SQL.')
      if (
        /(Insert|Create|Drop|Alter|System|Kill|Set|Use|Rename|Optimize|Backup|Explain)\w*Query$/.test(
          node.kind,
        )
      ) {
        throw invalidQuery('Only one SELECT is allowed.')
      }
  }
}

function checkTable(name: string, tables: ReadonlySet<string>): void {
  // The service's own tables begin with an underscore, and no common table expression can make them visible.
  if (!/^[A-Za-z]\w*$/.test(name) || !tables.has(name)) {
    throw invalidQuery(`"${name}" is no source. Only sources and generators such as numbers() can be read.`)
  }
}

function checkFunction(node: Node, nodes: Node[], index: number, tables: ReadonlySet<string>): void {
  const name = node.name.toLowerCase()
  if (parentOf(nodes, index)?.kind === 'TableExpression') {
    if (!generators.has(name)) throw invalidQuery(`The table function ${node.name} is not allowed.`)
    return
  }
  if (forbiddenFunctions.some((pattern) => pattern.test(name))) {
    throw invalidQuery(`The function ${node.name} is not allowed.`)
  }
  if (comparesWithTable.test(name)) {
    // The right side of IN may be the bare name of a table.
    const last = childrenOf(nodes, index + 1).at(-1)
    if (last?.kind === 'Identifier') checkTable(last.name, tables)
  }
}

function parentOf(nodes: Node[], index: number): Node | undefined {
  const { depth } = nodes[index] as Node
  return nodes.slice(0, index).findLast((node) => node.depth === depth - 1)
}

function childrenOf(nodes: Node[], index: number): Node[] {
  const parent = nodes[index]
  if (!parent) return []
  const children: Node[] = []
  for (const node of nodes.slice(index + 1)) {
    if (node.depth <= parent.depth) break
    if (node.depth === parent.depth + 1) children.push(node)
  }
  return children
}

/**
 * What is told from the text alone. The engine's own placeholders have no place in saved SQL: with one that names a table, a caller could choose
 * what is read.
 */
export function checkTokens(query: string): void {
  const tokens = [...sqlTokens(query)].filter(({ kind }) => kind !== 'space' && kind !== 'comment')
  const text = (index: number) => query.slice(tokens[index]?.start, tokens[index]?.end)
  for (const [index, { kind }] of tokens.entries()) {
    // The tree is read line by line, and a name may not begin a line of its own.
    if (kind === 'quoted-identifier' && /[\x00-\x1f]/.test(text(index))) {
      throw invalidQuery('A quoted name holds a control character.')
    }
    if (kind === 'word' && text(index - 1) === '{' && text(index + 1) === ':') {
      throw invalidQuery(`Write the parameter as @${text(index)}; {${text(index)}:…} is not taken.`)
    }
  }
}

/** Names that the statement gives to subqueries: name AS (SELECT …). The tree does not show them. */
function commonTableNames(sql: string): Set<string> {
  const names = new Set<string>()
  const words: string[] = []
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end)
    const [name, as, open] = words.slice(-3)
    if (
      /^(select|with|from|\()$/i.test(text) &&
      open === '(' &&
      /^as$/i.test(as ?? '') &&
      name !== undefined
    ) {
      const plain = name.replace(/^[`"](.*)[`"]$/, '$1')
      if (/^[A-Za-z]\w*$/.test(plain)) names.add(plain)
    }
    words.push(text)
  }
  return names
}
