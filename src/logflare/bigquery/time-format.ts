import { invalidQuery } from '../../base/errors.ts'

/** Format elements of BigQuery that the engine writes differently. */
const renamed: Record<string, string> = {
  M: '%i',
  A: '%W',
  B: '%M',
  Z: 'UTC',
  z: '+0000',
  X: '%T',
  x: '%D',
  c: '%a %b %e %T %Y',
}

/** Those that mean the same in both. */
const same = new Set('YmdHSFTRbahjyeIpDuwVGnt%'.split(''))

/** A format of FORMAT_TIMESTAMP as a format of the engine. */
export function formatOf(format: string): string {
  return format.replace(/%(E\dS|E\*S|E4Y|[\s\S]|$)/g, (_, element: string) => {
    if (element === 'E4Y') return '%Y'
    if (/^E.S$/.test(element)) return '%S.%f'
    if (same.has(element)) return `%${element}`
    const other = renamed[element]
    if (other !== undefined) return other
    throw invalidQuery(`The format element %${element} is not supported. Use %Y, %m, %d, %H, %M and %S.`)
  })
}
