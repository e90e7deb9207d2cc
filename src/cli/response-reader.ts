/** Checks a response and gives it its type, which the service defines; throws if another program sent it. */
export type ResponseReader<T> = (json: unknown) => T

export function objectWith<T>(...fields: readonly (keyof T & string)[]): ResponseReader<T> {
  return (json) => {
    const missing = fields.find((name) => !(typeof json === 'object' && json && name in json))
    if (missing === undefined) return json as T
    throw new Error(`${missing} is missing`)
  }
}

export function listOf<T>(...fields: readonly (keyof T & string)[]): ResponseReader<T[]> {
  const read = objectWith<T>(...fields)
  return (json) => {
    if (Array.isArray(json)) return json.map(read)
    throw new Error('the body is not a list')
  }
}
