/** The form that adds an upstream from a preset. */
import { useState } from 'preact/hooks'
import type { PresetRow } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { useData } from '../loading.ts'
import { Field } from '../parts/form.tsx'
import { text } from '../texts.ts'
import { ChangeForm } from './change-form.tsx'

interface AddProviderProps {
  onClose(): void
  onLive(): void
}
const EMPTY = { preset: '', name: '', variable: '', url: '' }
const PARAMS = ['preset', 'name', 'variable', 'url']

const AddProvider = ({ onClose, onLive }: AddProviderProps) => {
  const presets = useData<{ data: readonly PresetRow[] }>('/api/admin/config/presets')
  const [draft, setDraft] = useState(EMPTY)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const rows = (presets.data?.data ?? []).toSorted((a, b) => a.title.localeCompare(b.title))
  const preset = rows.find(({ name }) => name === draft.preset) ?? rows[0]
  const { name, variable, url } = draft
  const presetName = preset?.name ?? ''
  const body = {
    preset: presetName,
    name: name || presetName,
    ...(variable !== '' && { variable }),
    ...(url !== '' && { url }),
    ...(preset && Object.keys(preset.needs).length > 0 && { values }),
  }
  return (
    <ChangeForm
      title={text('upstreams.add')}
      operation="provider"
      body={body}
      params={preset ? PARAMS : []}
      onClose={onClose}
      onLive={onLive}
    >
      {error => (
        <>
          <Field
            label={text('change.preset')}
            help={presets.data && rows.length === 0 ? text('change.preset.none') : undefined}
            value={presetName}
            onChange={preset => {
              setDraft({ ...EMPTY, preset })
              setValues({})
            }}
            options={rows.map(({ name, title }) => [name, title] as const)}
            param="preset"
            error={error}
          />
          {preset && (
            <Details
              preset={preset}
              draft={draft}
              onChange={part => setDraft({ ...draft, ...part })}
              values={values}
              onValue={(name, value) => setValues({ ...values, [name]: value })}
              error={error}
            />
          )}
        </>
      )}
    </ChangeForm>
  )
}
export default AddProvider

interface DetailsProps {
  readonly preset: PresetRow
  readonly draft: typeof EMPTY
  onChange(part: Partial<typeof EMPTY>): void
  readonly values: Readonly<Record<string, string>>
  onValue(name: string, value: string): void
  readonly error: ApiError | undefined
}
const Details = ({ preset, draft, onChange, values, onValue, error }: DetailsProps) => (
  <>
    {Object.entries(preset.needs).map(([name, description]) => (
      <Field
        key={name}
        label={name}
        help={description}
        value={values[name] ?? ''}
        onChange={value => onValue(name, value)}
        isRequired
      />
    ))}
    <Field
      label={text('change.upstream')}
      help={text('change.upstream.help')}
      value={draft.name}
      placeholder={preset.name}
      onChange={name => onChange({ name })}
      param="name"
      error={error}
    />
    {preset.variable !== null && (
      <Field
        label={text('change.variable')}
        help={text('change.variable.help', { name: draft.variable || preset.variable })}
        value={draft.variable}
        placeholder={preset.variable}
        onChange={variable => onChange({ variable })}
        param="variable"
        error={error}
      />
    )}
    <Field
      label={`${text('change.url')} (${text('optional')})`}
      help={text('change.url.help')}
      type="url"
      value={draft.url}
      onChange={url => onChange({ url })}
      param="url"
      error={error}
    />
  </>
)
