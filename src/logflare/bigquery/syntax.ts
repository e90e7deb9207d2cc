/** The syntax tree of a BigQuery query. Every node knows where it starts, for the position of an error. */
export type Expression = { at: number } & (
  | { kind: 'literal'; type: 'string' | 'int' | 'number' | 'bool' | 'null'; value: string }
  | { kind: 'name'; parts: readonly string[] }
  | { kind: 'field'; of: Expression; name: string }
  | { kind: 'index'; of: Expression; offset: number }
  | { kind: 'call'; name: string; args: readonly Expression[]; distinct: boolean; limit?: number }
  | { kind: 'star' }
  | { kind: 'not'; of: Expression }
  | { kind: 'negative'; of: Expression }
  | { kind: 'binary'; operator: string; left: Expression; right: Expression }
  | { kind: 'compare'; operator: string; left: Expression; right: Expression }
  | { kind: 'logic'; operator: 'and' | 'or'; terms: readonly Expression[] }
  | { kind: 'like'; operator: 'like' | 'ilike'; not: boolean; of: Expression; pattern: Expression }
  | { kind: 'between'; not: boolean; of: Expression; low: Expression; high: Expression }
  | { kind: 'in'; not: boolean; of: Expression; items: readonly Expression[] | Query }
  | { kind: 'is'; not: boolean; of: Expression; what: 'null' | 'true' | 'false' }
  | {
      kind: 'case'
      of?: Expression
      whens: readonly (readonly [Expression, Expression])[]
      otherwise?: Expression
    }
  | { kind: 'cast'; of: Expression; type: string }
  | { kind: 'interval'; count: Expression; unit: string }
  | { kind: 'part'; unit: string; of: Expression }
  | { kind: 'array'; items: readonly Expression[] }
  | { kind: 'struct'; members: readonly { name: string | undefined; value: Expression }[] }
  | { kind: 'query'; query: Query; use: 'scalar' | 'exists' }
)

export interface Query {
  kind: 'query-body'
  at: number
  ctes: readonly { name: string; query: Query }[]
  body: Body
  order: readonly { by: Expression; direction: 'ASC' | 'DESC'; nulls: '' | ' NULLS FIRST' | ' NULLS LAST' }[]
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
}

export type SelectItem =
  | { kind: 'expression'; value: Expression; alias: string | undefined }
  | { kind: 'all'; at: number; of: string | undefined; except: readonly string[] }

export interface From {
  first: Table
  joins: readonly Join[]
}

export interface Join {
  type: 'CROSS' | 'INNER' | 'LEFT'
  table: Table
  on: Expression | undefined
  using: readonly string[]
}

export type Table = { at: number; alias: string | undefined } & (
  | { kind: 'table'; parts: readonly string[] }
  | { kind: 'unnest'; of: Expression }
  | { kind: 'subquery'; query: Query }
  | { kind: 'joined'; from: From }
)
