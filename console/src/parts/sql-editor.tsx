import { lazy, Suspense } from 'react'
import type { SqlEditorProps } from './sql-editor-view.tsx'

const View = lazy(() => import('./sql-editor-view.tsx'))

/** The editor is large, so the page is there before it. */
export function SqlEditor(props: SqlEditorProps) {
  return (
    <Suspense fallback={<div className="editor skeleton" style={{ height: props.height }} />}>
      <View {...props} />
    </Suspense>
  )
}
