/** The page of the plugin contract about what operators use: commands. Types only; imports nothing. */

/** `tollgate NAME …`. `Host`: what it runs with. */
export interface CommandOf<Host> {
  readonly summary: string
  /** One line a user can paste. */
  readonly example?: string
  readonly options?: Readonly<
    Record<
      string,
      { readonly type: 'string' | 'boolean'; readonly short?: string; readonly summary?: string }
    >
  >
  /** Resolves to the exit code. */
  run(
    args: {
      readonly values: Readonly<Record<string, string | boolean | undefined>>
      readonly positionals: readonly string[]
    },
    host: Host,
  ): Promise<number>
}
