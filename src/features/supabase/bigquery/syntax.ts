/** The syntax tree of a BigQuery query. Every node knows where it starts, for the position of an error. */
export type Expression = { at: number } & (
  | { kind: 'literal'; type: 'string' | 'int' | 'number' | 'bool' | 'null'; value: string }
  | { kind: 'name'; parts: string[] }
  /** A field by its name, or an element by its offset. */
  | { kind: 'element'; of: Expression; key: string | number }
  /** A function or an operator. Casts and parts of dates are functions with two words: "cast int64". */
  | { kind: 'call'; name: string; args: readonly Expression[]; modifiers?: Modifiers }
  | { kind: 'struct'; members: readonly { name: string | undefined; value: Expression }[] }
  | { kind: 'query'; query: Query }
)

export interface OrderKey {
  by: Expression
  direction: 'ASC' | 'DESC'
  nulls: '' | ' NULLS FIRST' | ' NULLS LAST'
}

/** What a call of an aggregate or window function can have beside its arguments. */
export interface Modifiers {
  distinct: boolean
  ignoresNulls: boolean
  order: readonly OrderKey[]
  limit: number | undefined
  over: { partition: readonly Expression[]; order: readonly OrderKey[]; frame: string } | undefined
}

export interface Query {
  at: number
  ctes: readonly { name: string; query: Query }[]
  body: Body
  order: readonly OrderKey[]
  limit: number | undefined
  offset: number | undefined
}

export type Body =
  | { kind: 'select'; select: Select }
  | { kind: 'union'; distinct: boolean; branches: readonly Query[] }

export interface Select {
  at: number
  distinct: boolean
  items: readonly SelectItem[]
  from: From | undefined
  where: Expression | undefined
  group: readonly Expression[] | 'all'
  having: Expression | undefined
  qualify: Expression | undefined
}

export type SelectItem =
  | { kind: 'expression'; value: Expression; alias: string | undefined }
  | { kind: 'all'; at: number; of: string | undefined; except: readonly string[] }

export interface From {
  first: Table
  joins: readonly Join[]
}

export interface Join {
  type: 'CROSS' | 'INNER' | 'LEFT' | 'RIGHT' | 'FULL'
  table: Table
  on: Expression | undefined
  using: readonly string[]
}

export type Table = { at: number; alias: string | undefined } & (
  | { kind: 'table'; parts: string[] }
  | { kind: 'unnest'; of: Expression }
  | { kind: 'subquery'; query: Query }
  | { kind: 'joined'; from: From }
)
