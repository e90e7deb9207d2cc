import { hash } from 'node:crypto'
import type { Endpoint } from './endpoint.ts'

const tags = new WeakMap<object, string>()

/** The same for versions that return and cache the same. Columns count, because sources can change. */
export function resultTag(endpoint: Pick<Endpoint, 'definition' | 'columns'>): string {
  let tag = tags.get(endpoint)
  if (tag === undefined) {
    const {
      name: _,
      description: _text,
      chart: _chart,
      published: _published,
      ...fields
    } = endpoint.definition
    tag = hash('sha256', JSON.stringify([fields, endpoint.columns]), 'hex')
    tags.set(endpoint, tag)
  }
  return tag
}
