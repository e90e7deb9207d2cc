import { useMutation } from '@tanstack/react-query'
import { send } from '../api/api.ts'
import { type Question, sqlRequest } from './question.ts'

const maxRows = 10_000

/** Runs the query again, because the service writes exact values and more rows than the page shows. */
export function DownloadCsv({ question }: { question: Question }) {
  const download = useMutation({
    mutationFn: async () => {
      const body = { ...sqlRequest(question), max_rows: maxRows }
      const response = await send('/api/sql?_format=csv', { body })
      save(await response.blob(), 'rows.csv')
      return response.headers.get('Wellhead-Truncated') === 'true'
    },
  })
  return (
    <div className="actions">
      {download.error && (
        <span className="badge bad verdict" role="alert">
          {download.error.message}
        </span>
      )}
      {download.data && <span className="badge warn">The file has the first 10,000 rows.</span>}
      <button
        type="button"
        className="button small"
        disabled={download.isPending}
        onClick={() => download.mutate()}
      >
        {download.isPending ? 'Downloading …' : 'Download CSV'}
      </button>
    </div>
  )
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The browser reads the file after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
