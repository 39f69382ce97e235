/** The editor of routes.yaml and its includes: line numbers, problems beside the lines as they are
 *  typed, completion of keys, a save that overwrites no change of another editor. */
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { callData } from '../api.ts'
import { type Completion, completionsAt } from '../completion.ts'
import { toApiError, useAction, useData } from '../loading.ts'
import type { PageProps } from '../pages.ts'
import { useUnsaved } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { Empty, FormError, View } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { SessionContext } from '../parts/values.tsx'
import { hrefOf, setQuery } from '../router.ts'
import { text } from '../texts.ts'

type Files = Readonly<Record<string, string>>
interface Problem {
  readonly message: string
  readonly file: string
  readonly line: number
  readonly column: number
}
/** ms without a key before the text is checked. */
const PAUSE = 400

const Editor = ({ place: { query } }: PageProps) => {
  const session = useContext(SessionContext)
  const files = useData<{ data: Files }>(session?.edit ? '/api/admin/editor/files' : undefined)
  if (!session?.edit)
    return (
      <>
        <PageHead title={text('page.editor')} />
        <Empty title={text('editor.off')} help={text('editor.off.help')}>
          <a class="button" href={hrefOf('configuration')}>
            {text('page.configuration')}
          </a>
        </Empty>
      </>
    )
  return (
    <>
      {!files.data && <PageHead title={text('page.editor')} />}
      <View of={files} rows={12}>
        {({ data }) => {
          const names = Object.keys(data)
          const file = names.find(each => each === query.get('file')) ?? names[0] ?? ''
          return (
            <FileEditor
              key={`${file} ${data[file]?.length}`}
              names={names}
              file={file}
              before={data[file] ?? ''}
              onSaved={files.reload}
            />
          )
        }}
      </View>
    </>
  )
}
export default Editor

interface FileEditorProps {
  readonly names: readonly string[]
  readonly file: string
  readonly before: string
  onSaved(): void
}
const FileEditor = ({ names, file, before, onSaved }: FileEditorProps) => {
  const [content, setContent] = useState(before)
  const { problems, isChecking } = useProblems(file, content)
  const isChanged = content !== before
  useUnsaved(isChanged)
  const save = useAction(async () => {
    await callData('POST', '/api/admin/editor/save', { file, text: content, before })
    toast(text('editor.saved'))
    onSaved()
  })
  const own = problems.filter(each => each.file === file)
  return (
    <>
      <PageHead title={text('page.editor')}>
        <select
          class="input"
          aria-label={text('editor.file')}
          value={file}
          onChange={event => setQuery({ file: event.currentTarget.value })}
        >
          {names.map(each => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <button type="button" class="button primary" aria-busy={save.isBusy} onClick={save.start}>
          {text('editor.save')}
        </button>
      </PageHead>
      <FormError error={save.error} fields={[]} />
      <p class="small muted">{isChanged ? text('unsaved') : text('editor.help')}</p>
      <Area file={file} content={content} problems={own} onChange={setContent} />
      <Problems problems={problems} isChecking={isChecking} />
    </>
  )
}

/** The problems of the last text that was checked. */
const useProblems = (file: string, content: string) => {
  const [problems, setProblems] = useState<readonly Problem[]>([])
  const [isChecking, setChecking] = useState(true)
  useEffect(() => {
    const abort = new AbortController()
    setChecking(true)
    const timer = setTimeout(() => {
      const body = { file, text: content }
      callData<readonly Problem[]>('POST', '/api/admin/editor/check', body, abort.signal)
        .then(found => {
          setProblems(found)
          setChecking(false)
        })
        .catch(error => {
          if (abort.signal.aborted) return
          const { message } = toApiError(error)
          setProblems([{ message, file, line: 1, column: 1 }])
          setChecking(false)
        })
    }, PAUSE)
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [file, content])
  return { problems, isChecking }
}

interface AreaProps {
  readonly file: string
  readonly content: string
  readonly problems: readonly Problem[]
  onChange(content: string): void
}
const Area = ({ file, content, problems, onChange }: AreaProps) => {
  const area = useRef<HTMLTextAreaElement>(null)
  const gutter = useRef<HTMLPreElement>(null)
  const [completions, setCompletions] = useState<readonly Completion[]>([])
  const schema = useData<{ data: unknown }>('/api/admin/editor/schema')
  const marked = new Map(problems.map(each => [each.line, each.message]))
  const complete = (key: string) => {
    const element = area.current
    if (!element) return
    const { prefix } = completionsAt(content, element.selectionStart, schema.data?.data)
    element.setRangeText(
      `${key.slice(prefix.length)}: `,
      element.selectionStart,
      element.selectionEnd,
      'end',
    )
    setCompletions([])
    onChange(element.value)
    element.focus()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setCompletions([])
    if (event.key !== ' ' || !event.ctrlKey) return
    event.preventDefault()
    const offset = area.current?.selectionStart ?? 0
    setCompletions(completionsAt(content, offset, schema.data?.data).keys)
  }
  return (
    <>
      <div class="editor">
        <pre class="editor-lines" ref={gutter} aria-hidden="true">
          {content.split('\n').map((_, index) => (
            <span
              key={index}
              class={marked.has(index + 1) ? 'error' : ''}
              title={marked.get(index + 1) ?? ''}
            >
              {`${marked.has(index + 1) ? '▸' : ' '}${index + 1}\n`}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          class="editor-text"
          aria-label={text('editor.label', { file })}
          aria-invalid={problems.length > 0 ? 'true' : undefined}
          spellcheck={false}
          autocapitalize="off"
          wrap="off"
          value={content}
          onInput={event => onChange(event.currentTarget.value)}
          onKeyDown={onKey}
          onScroll={event => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop
          }}
        />
      </div>
      {completions.length > 0 && (
        <ul class="completions" aria-label={text('editor.completions')}>
          {completions.map(({ key, description }) => (
            <li key={key}>
              <button type="button" class="button tiny mono" onClick={() => complete(key)}>
                {key}
              </button>
              <span class="small muted">{description}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const Problems = ({
  problems,
  isChecking,
}: {
  problems: readonly Problem[]
  isChecking: boolean
}) => (
  <section class="card" aria-label={text('editor.problems', { n: problems.length })}>
    <div aria-live="polite" data-problems={isChecking ? 'checking' : problems.length}>
      {isChecking ? (
        <span class="muted">{text('editor.checking')}</span>
      ) : problems.length === 0 ? (
        <span class="badge ok">{text('editor.clean')}</span>
      ) : (
        problems.map(({ file, line, column, message }, index) => (
          <p key={index} class="error">
            <span class="mono">
              {file}:{line}:{column}
            </span>{' '}
            {message}
          </p>
        ))
      )}
    </div>
  </section>
)
