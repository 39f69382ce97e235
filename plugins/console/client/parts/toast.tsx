/** Short messages about what has just been done, read out by screen readers. */
import { useEffect, useState } from 'preact/hooks'

interface Message {
  readonly id: number
  readonly text: string
}
const EVENT = 'tollgate-toast'
const LIFE = 4_000

export const toast = (text: string): void => {
  dispatchEvent(new CustomEvent(EVENT, { detail: text }))
}

export const Toasts = () => {
  const [messages, setMessages] = useState<readonly Message[]>([])
  useEffect(() => {
    const onToast = (event: Event) => {
      const id = Date.now() + Math.random()
      const { detail } = event as CustomEvent<string>
      setMessages(all => [...all.slice(-2), { id, text: detail }])
      setTimeout(() => setMessages(all => all.filter(each => each.id !== id)), LIFE)
    }
    addEventListener(EVENT, onToast)
    return () => removeEventListener(EVENT, onToast)
  }, [])
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.map(({ id, text }) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  )
}
