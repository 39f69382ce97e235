/** A result of a task, played inline: video, audio or image. Its file comes through the
 *  gateway: the page loads nothing from elsewhere, so that its policy can forbid it. */
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../api.ts'
import { text } from '../texts.ts'

type Kind = 'video' | 'audio' | 'image'
const ENDINGS: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/\.(?:mp4|webm|mov|m4v)$/i, 'video'],
  [/\.(?:mp3|wav|ogg|m4a|flac|aac)$/i, 'audio'],
  [/\.(?:png|jpe?g|webp|gif)$/i, 'image'],
]
const endingOf = (url: string): Kind | undefined =>
  ENDINGS.find(([pattern]) => pattern.test(URL.parse(url, location.href)?.pathname ?? ''))?.[1]
const kindOfType = (type: string): Kind | undefined =>
  (['video', 'audio', 'image'] as const).find(kind => type.startsWith(`${kind}/`))

/** The kind of a file: by the ending of its address, or by asking for its type. */
const useKind = (url: string, address: string): Kind | undefined => {
  const [kind, setKind] = useState(() => endingOf(url))
  useEffect(() => {
    if (kind) return
    const abort = new AbortController()
    fetch(address, { method: 'HEAD', signal: abort.signal })
      .then(({ ok, headers }) => ok && setKind(kindOfType(headers.get('content-type') ?? '')))
      .catch(() => {})
    return () => abort.abort()
  }, [address])
  return kind
}

interface MediaProps {
  readonly task: string
  /** Of the result among those of its task. */
  readonly index: number
  readonly result: Readonly<Record<string, unknown>>
}
export const Media = ({ task, index, result }: MediaProps) => {
  const [isBroken, setBroken] = useState(false)
  const file = (member: string) =>
    addressOf(`/api/tasks/${encodeURIComponent(task)}/results/${index}/${member}`)
  const url = typeof result.url === 'string' ? result.url : ''
  const address = file('url')
  const kind = useKind(url, address)
  const poster = typeof result.cover_url === 'string' && result.cover_url ? file('cover_url') : ''
  const label = `${text('tasks.results')} ${index + 1}`
  const shared = { src: address, onError: () => setBroken(true) }
  return (
    <figure class="media">
      {isBroken && <p class="muted">{text('tasks.unplayable')}</p>}
      {!isBroken && kind === 'video' && (
        <video
          controls
          preload="metadata"
          {...shared}
          {...(poster && { poster })}
          aria-label={label}
        />
      )}
      {!isBroken && kind === 'audio' && (
        <audio controls preload="metadata" {...shared} aria-label={label} />
      )}
      {!isBroken && kind === 'image' && <img {...shared} alt={label} />}
      <figcaption>
        <a href={address} download>
          {text('tasks.open')}
        </a>
      </figcaption>
    </figure>
  )
}
