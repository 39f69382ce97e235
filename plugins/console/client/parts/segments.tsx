/** A row of buttons of which one is pressed. */

interface SegmentsProps<Name extends string | number> {
  /** For screen readers. */
  readonly label: string
  readonly names: readonly Name[]
  readonly present: Name | undefined
  readonly isSmall?: boolean
  titleOf(name: Name): string
  onChoose(name: Name): void
}
export const Segments = <Name extends string | number>(props: SegmentsProps<Name>) => (
  <fieldset class="segments">
    <legend class="hidden">{props.label}</legend>
    {props.names.map(name => (
      <button
        key={name}
        type="button"
        class={props.isSmall ? 'button tiny' : 'button'}
        aria-pressed={props.present === name}
        onClick={() => props.onChoose(name)}
      >
        {props.titleOf(name)}
      </button>
    ))}
  </fieldset>
)
