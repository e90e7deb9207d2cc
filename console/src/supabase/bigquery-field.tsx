import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, api } from '../api/api.ts'
import { markedProblem } from '../query/editor/marked-problem.ts'
import { SqlEditor } from '../query/editor/sql-editor.tsx'
import { Verdict } from '../query/editor/verdict.tsx'
import { useSettled } from '../query/use-settled.ts'

const pauseMs = 350

interface BigQueryFieldProps {
  onTranslated: (sql: string) => void
  onRun: () => void
}

/** Takes SQL from Supabase Studio. Its translation replaces the SQL of the editor below. */
export function BigQueryField({ onTranslated, onRun }: BigQueryFieldProps) {
  const [written, setWritten] = useState('')
  const sql = useSettled(written, pauseMs)
  const isBlank = sql.trim() === ''
  const { data, error, isFetching } = useQuery({
    queryKey: ['bigquery', sql],
    queryFn: async ({ signal }) => {
      const translated = await api<{ sql: string }>('/logflare/api/translate', { body: { sql }, signal })
      const { formatSql } = await import('../query/editor/format-sql.ts')
      return formatSql(translated.sql)
    },
    enabled: !isBlank,
    retry: false,
  })
  const receive = useRef(onTranslated)
  receive.current = onTranslated
  useEffect(() => {
    if (data !== undefined) receive.current(data)
  }, [data])
  const problem = error instanceof ApiError && !isBlank ? error : undefined
  const marked = useMemo(() => problem && markedProblem(problem), [problem])
  const state = isFetching || sql !== written ? 'Translating …' : data ? 'Translated below.' : ''
  return (
    <>
      <SqlEditor
        label="BigQuery"
        height={140}
        value={written}
        onChange={setWritten}
        onRun={onRun}
        problem={marked}
      />
      <Verdict
        problem={problem}
        state={isBlank ? 'Paste a query from Supabase Studio.' : state}
        query={written}
        onFix={setWritten}
      />
    </>
  )
}
