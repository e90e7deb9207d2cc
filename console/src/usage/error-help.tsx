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

/** The last cell of the table row of this code. */
export function meaningOf(page: string, code: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${code}\` `))
  return row?.split('|').at(3)?.trim() ?? 'Not documented.'
}
