import { useMutation } from '@tanstack/react-query'
import { send } from '../../api/api.ts'
import { queryPath } from '../../api/call-endpoint.ts'
import { Menu } from '../../ui/button.tsx'
import { saveFile } from '../../ui/save-file.ts'

const formats = [
  ['csv', 'CSV'],
  ['json', 'JSON'],
  ['parquet', 'Parquet'],
] as const

type Format = (typeof formats)[number][0]
export type FileRequest = (format: Format) => Promise<Response>

export function endpointFile(name: string, values: Record<string, string>): FileRequest {
  return (format) => send(queryPath(name, { ...values, _format: format, _raw: '0' }))
}

export function previewFile(
  endpoint: Record<string, unknown>,
  parameters: Readonly<Record<string, string>>,
): FileRequest {
  return (format) =>
    send(`/api/endpoints/preview?_format=${format}&_raw=0`, { body: { endpoint, parameters } })
}

/** Requests the rows again, because the service writes exact values, and CSV without formulas. */
export function Download({ name, file }: { name: string; file: FileRequest }) {
  const download = useMutation({
    mutationFn: async (format: Format) => {
      const response = await file(format)
      saveFile(await response.blob(), `${name}.${format}`)
      return response.headers.get('Wellhead-Truncated') === 'true'
    },
  })
  return (
    <>
      {download.error && (
        <span className="badge bad verdict" role="alert">
          {download.error.message}
        </span>
      )}
      {download.data && <span className="badge warn">The file is cut at the row limit.</span>}
      <Menu label={download.isPending ? 'Downloading …' : 'Download'} className="small">
        {formats.map(([format, text]) => (
          <button
            key={format}
            type="button"
            disabled={download.isPending}
            aria-label={`Download ${text}`}
            onClick={() => download.mutate(format)}
          >
            {text}
          </button>
        ))}
      </Menu>
    </>
  )
}
