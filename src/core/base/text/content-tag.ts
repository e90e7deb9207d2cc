import { hash } from 'node:crypto'

export function contentTag(...parts: readonly (Buffer | string)[]): string {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return hash('sha256', content, 'base64url').slice(0, 27)
}
