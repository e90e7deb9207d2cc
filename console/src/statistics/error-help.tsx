import { useQuery } from '@tanstack/react-query'
import { InlineCode } from '../ui/inline-code.tsx'

/** What the documentation says about a code. */
export function ErrorHelp({ code }: { code: string }) {
  const { data } = useQuery({
    queryKey: ['error-help'],
    queryFn: async () => (await import('../../../docs/reference/errors.md?raw')).default,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data === undefined ? '…' : <InlineCode text={meaningOf(data, code)} />
}

/** What follows the code and its status in the list. */
export function meaningOf(page: string, code: string): string {
  const line = page.split('\n').find((one) => one.startsWith(`- \`${code}\` (`))
  return line?.slice(line.indexOf('): ') + 3) ?? 'Not documented.'
}
