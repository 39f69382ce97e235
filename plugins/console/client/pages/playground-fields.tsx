/** Fields of the playground: the model by a search, images, and the request as code to copy. */
import { useContext, useEffect, useState } from 'preact/hooks'
import { REQUEST_CODE } from '../formats.ts'
import { Field } from '../parts/form.tsx'
import { toast } from '../parts/toast.tsx'
import { copyText, SessionContext } from '../parts/values.tsx'
import { setQuery } from '../router.ts'
import { text } from '../texts.ts'

export interface ModelProps {
  readonly model: string
  readonly names: readonly string[]
}
/** The name is chosen once it is whole; until then the one before is used. */
export const ModelField = ({ model, names }: ModelProps) => {
  const [draft, setDraft] = useState(model)
  useEffect(() => setDraft(model), [model])
  const onChange = (value: string) => {
    setDraft(value)
    if (names.includes(value.trim())) setQuery({ model: value.trim() })
  }
  const isUnknown = draft !== model
  return (
    <Field
      label={text('playground.model')}
      type="search"
      value={draft}
      onChange={onChange}
      suggestions={names}
      {...(isUnknown && { help: text('playground.search', { model, n: names.length }) })}
    />
  )
}

const MOST_BYTES = 5 * 2 ** 20
const urlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error(file.name))
    reader.readAsDataURL(file)
  })
interface ImagesProps {
  /** Data URLs. */
  readonly images: readonly string[]
  onChange(images: readonly string[]): void
}
export const ImagesField = ({ images, onChange }: ImagesProps) => {
  const add = async (files: readonly File[]) => {
    const small = files.filter(({ size }) => size <= MOST_BYTES)
    if (small.length < files.length) toast(text('playground.image.large'))
    onChange([...images, ...(await Promise.all(small.map(urlOf)))])
  }
  return (
    <div class="field">
      <label>
        {text('playground.images')} ({text('optional')})
        <input
          type="file"
          class="input"
          accept="image/*"
          multiple
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])]
            currentTarget.value = ''
            void add(files).catch((error: Error) => toast(error.message))
          }}
        />
      </label>
      {images.length > 0 && (
        <div class="row">
          {images.map((url, at) => (
            <img key={at} src={url} alt={text('playground.image', { n: at + 1 })} height={48} />
          ))}
          <button type="button" class="button tiny" onClick={() => onChange([])}>
            {text('playground.images.remove')}
          </button>
        </div>
      )}
    </div>
  )
}

const LANGUAGES = Object.keys(REQUEST_CODE) as (keyof typeof REQUEST_CODE)[]
export const CopyAs = ({ path, body }: { readonly path: string; readonly body: object }) => {
  const base = useContext(SessionContext)?.url ?? ''
  return (
    <p class="row small">
      {text('playground.copy')}
      {LANGUAGES.map(name => (
        <button
          key={name}
          type="button"
          class="button tiny"
          onClick={() => void copyText(REQUEST_CODE[name](base + path, body))}
        >
          {name}
        </button>
      ))}
    </p>
  )
}
