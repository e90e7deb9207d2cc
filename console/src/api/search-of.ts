import { listText, listValues } from '../../../src/shared/list-text.ts'

/** A list is one text in pages and in their addresses, and a repeated parameter in a request. */
export function searchOf(values: Record<string, string>): URLSearchParams {
  const search = new URLSearchParams()
  for (const [name, text] of Object.entries(values)) {
    const list = listValues(text)
    for (const value of listText(list) === text ? list : [text]) search.append(name, value)
  }
  return search
}
