/** Code to paste that calls a model: in each format that it answers, by curl and by SDKs. */
import { useContext, useState } from 'preact/hooks'
import type { PricedModel } from '../../../views.ts'
import {
  FORMAT_NAMES,
  FORMATS,
  type FormatName,
  LANGUAGE_NAMES,
  type LanguageName,
  languageTitle,
  snippetOf,
} from '../formats.ts'
import { text } from '../texts.ts'
import { Segments } from './segments.tsx'
import { CodeBox, copyText, SessionContext } from './values.tsx'

/** The formats of chat that a model answers. */
export const formatsOf = ({ supported_endpoint_types }: PricedModel): readonly FormatName[] =>
  FORMAT_NAMES.filter(name => supported_endpoint_types.includes(FORMATS[name].endpoint))

export const Snippet = ({ code }: { code: string }) => (
  <div class="snippet">
    <CodeBox text={code} data-snippet />
    <button type="button" class="button tiny" onClick={() => void copyText(code)}>
      {text('copy')}
    </button>
  </div>
)

interface SnippetTabsProps {
  readonly model: PricedModel
  /** A key to run the code with; without it the code reads the variable KEY. */
  readonly secret?: string
}
export const SnippetTabs = ({ model, secret }: SnippetTabsProps) => {
  const formats = formatsOf(model)
  const [choice, setChoice] = useState(formats[0])
  const [language, setLanguage] = useState<LanguageName>('curl')
  const base = useContext(SessionContext)?.url ?? ''
  const format = choice && formats.includes(choice) ? choice : formats[0]
  if (!format) return null
  const code = snippetOf(language, { base, model: model.model_name }, format)
  return (
    <div class="field">
      <div class="row">
        <Segments<FormatName>
          isSmall
          label={text('playground.format')}
          names={formats}
          present={format}
          titleOf={name => FORMATS[name].title}
          onChoose={setChoice}
        />
        <Segments<LanguageName>
          isSmall
          label={text('snippets.language')}
          names={LANGUAGE_NAMES}
          present={language}
          titleOf={languageTitle}
          onChoose={setLanguage}
        />
      </div>
      {secret ? (
        <Snippet code={`export KEY=${secret}\n${language === 'curl' ? code : ''}`.trim()} />
      ) : (
        <p class="field-help">{text('snippets.key')}</p>
      )}
      {(language !== 'curl' || !secret) && <Snippet code={code} />}
    </div>
  )
}
