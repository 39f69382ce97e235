/** The editor of routes.yaml and its includes: line numbers, problems beside their lines,
 *  completion of keys and values, a save that overwrites no change of another editor. */
import type { RefObject } from 'preact'
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ProblemView } from '../../../../views.ts'
import { callData } from '../../api.ts'
import { type Completion, completionsAt } from '../../completion.ts'
import { toApiError, useAction, useData } from '../../loading.ts'
import type { PageProps } from '../../page.ts'
import { useUnsaved } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, FormError, View } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { SessionContext } from '../../parts/values.tsx'
import { hrefOf, setQuery } from '../../router.ts'
import { text } from '../../texts.ts'

type Files = Readonly<Record<string, string>>
const sentenceOf = ({ message, text = message }: ProblemView): string => text
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
  const area = useRef<HTMLTextAreaElement>(null)
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
      <Area
        area={area}
        file={file}
        content={content}
        problems={problems.filter(each => each.file === file)}
        onChange={setContent}
      />
      <Problems file={file} area={area} problems={problems} isChecking={isChecking} />
    </>
  )
}

/** The problems of the last text that was checked. */
const useProblems = (file: string, content: string) => {
  const [problems, setProblems] = useState<readonly ProblemView[]>([])
  const [isChecking, setChecking] = useState(true)
  useEffect(() => {
    const abort = new AbortController()
    setChecking(true)
    const timer = setTimeout(() => {
      const body = { file, text: content }
      callData<readonly ProblemView[]>('POST', '/api/admin/editor/check', body, abort.signal)
        .then(list => {
          setProblems(list)
          setChecking(false)
        })
        .catch(error => {
          if (abort.signal.aborted) return
          const { message } = toApiError(error)
          setProblems([{ code: '', message, file, line: 1, column: 1 }])
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

/** Replaces the selection as if it were typed, so that it can be undone. */
const type = (area: HTMLTextAreaElement, content: string): void => {
  area.focus()
  document.execCommand('insertText', false, content)
}
const LINE_HEIGHT = 19
/** Selects what a problem means and scrolls there. */
const select = (area: HTMLTextAreaElement, { line, column, length = 0 }: ProblemView): void => {
  const before = area.value.split('\n').slice(0, line - 1)
  const start = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
  area.focus()
  area.setSelectionRange(start, start + length)
  area.scrollTop = Math.max(0, (line - 5) * LINE_HEIGHT)
}

/** The choices where Ctrl+Space was pressed. The place is kept until the schema has come. */
const useCompletions = () => {
  const [place, setPlace] = useState<{ readonly value: string; readonly offset: number }>()
  const schema = useData<{ data: unknown }>('/api/admin/editor/schema').data?.data
  const completions = useMemo(
    () => (place ? completionsAt(place.value, place.offset, schema).completions : []),
    [place, schema],
  )
  return { schema, completions, showAt: setPlace, close: () => setPlace(undefined) }
}

interface AreaProps {
  readonly area: RefObject<HTMLTextAreaElement | null>
  readonly file: string
  readonly content: string
  readonly problems: readonly ProblemView[]
  onChange(content: string): void
}
const Area = ({ area, file, content, problems, onChange }: AreaProps) => {
  const gutter = useRef<HTMLPreElement>(null)
  const { schema, completions, showAt, close } = useCompletions()
  const complete = ({ insert }: Completion) => {
    const element = area.current
    if (!element) return
    const { selectionStart: end, selectionEnd, value } = element
    const { prefix } = completionsAt(value, end, schema)
    close()
    element.setSelectionRange(end - prefix.length, selectionEnd)
    type(element, insert)
  }
  const onKey = (event: KeyboardEvent) => {
    const element = event.currentTarget as HTMLTextAreaElement
    // The text of the element: `content` is one render late when keys follow each other fast.
    const { selectionStart: offset, value } = element
    if (event.key === 'Escape') close()
    if (event.key === 'Enter') breakLine(event, element)
    if (event.key !== ' ' || !event.ctrlKey) return
    event.preventDefault()
    showAt({ value, offset })
  }
  return (
    <>
      <div class="editor">
        <pre class="editor-lines" ref={gutter} aria-hidden="true">
          <LineNumbers content={content} problems={problems} />
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
          onInput={event => {
            close()
            onChange(event.currentTarget.value)
          }}
          onKeyDown={onKey}
          onScroll={event => gutter.current?.scrollTo({ top: event.currentTarget.scrollTop })}
        />
      </div>
      {completions.length > 0 && (
        <Completions
          of={completions}
          onChoose={complete}
          onClose={() => {
            close()
            area.current?.focus()
          }}
        />
      )}
    </>
  )
}

/** Begins the next line below the first character of this one. */
const breakLine = (event: KeyboardEvent, element: HTMLTextAreaElement): void => {
  const { selectionStart: offset, value } = element
  const line = value.slice(value.lastIndexOf('\n', offset - 1) + 1, offset)
  event.preventDefault()
  type(element, `\n${/^ */.exec(line)?.[0] ?? ''}`)
}

const LineNumbers = ({ content, problems }: Pick<AreaProps, 'content' | 'problems'>) => {
  const marked = new Map(problems.map(each => [each.line, sentenceOf(each)]))
  return (
    <>
      {content.split('\n').map((_, index) => (
        <span
          key={index}
          class={marked.has(index + 1) ? 'error' : ''}
          title={marked.get(index + 1) ?? ''}
        >
          {`${marked.has(index + 1) ? '▸' : ' '}${index + 1}\n`}
        </span>
      ))}
    </>
  )
}

interface CompletionsProps {
  readonly of: readonly Completion[]
  onChoose(completion: Completion): void
  onClose(): void
}
/** A list below the text: arrows move in it, Enter chooses, Escape goes back. */
const Completions = ({ of, onChoose, onClose }: CompletionsProps) => {
  const list = useRef<HTMLUListElement>(null)
  // Before the next key: after the paint, a quick Enter would still go to the text.
  useLayoutEffect(() => list.current?.querySelector('button')?.focus(), [of])
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') onClose()
    if (step === undefined) return
    event.preventDefault()
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])]
    const index = buttons.indexOf(document.activeElement as HTMLButtonElement)
    buttons[(index + step + buttons.length) % buttons.length]?.focus()
  }
  return (
    <ul class="completions" aria-label={text('editor.completions')} ref={list} onKeyDown={onKey}>
      {of.map(each => (
        <li key={each.name}>
          <button type="button" class="button tiny mono" onClick={() => onChoose(each)}>
            {each.name}
          </button>
          <span class="small muted">{each.description}</span>
        </li>
      ))}
    </ul>
  )
}

interface ProblemsProps {
  readonly file: string
  readonly area: RefObject<HTMLTextAreaElement | null>
  readonly problems: readonly ProblemView[]
  readonly isChecking: boolean
}
const Problems = ({ file, area, problems, isChecking }: ProblemsProps) => (
  <section class="card" aria-label={text('editor.problems', { n: problems.length })}>
    <div aria-live="polite" data-problems={isChecking ? 'checking' : problems.length}>
      {isChecking ? (
        <span class="muted">{text('editor.checking')}</span>
      ) : problems.length === 0 ? (
        <span class="badge ok">{text('editor.clean')}</span>
      ) : (
        problems.map((problem, index) => (
          <ProblemLine key={index} of={problem} area={area} isHere={problem.file === file} />
        ))
      )}
    </div>
  </section>
)

interface ProblemLineProps {
  readonly of: ProblemView
  readonly area: RefObject<HTMLTextAreaElement | null>
  /** Whether it is in the file that is shown. */
  readonly isHere: boolean
}
const ProblemLine = ({ of: problem, area, isHere }: ProblemLineProps) => {
  const { file, line, column, length, suggestion, hint } = problem
  const place = `${file}:${line}:${column}`
  const show = () => area.current && select(area.current, problem)
  const replace = () => {
    show()
    if (area.current && suggestion) type(area.current, suggestion)
  }
  return (
    <p class="problem">
      {isHere ? (
        <button type="button" class="link mono" onClick={show}>
          {place}
        </button>
      ) : (
        <a class="mono" href={hrefOf('editor', undefined, { file })}>
          {place}
        </a>
      )}{' '}
      <span class="error">{sentenceOf(problem)}</span>{' '}
      {isHere && suggestion && length && (
        <button type="button" class="button tiny" onClick={replace}>
          {text('editor.replace', { word: suggestion })}
        </button>
      )}
      {hint && <span class="small muted hint">{hint}</span>}
    </p>
  )
}
