# Sizes of models, sourced by megatron-pretrain.sh.
case $SIZE in
8b) LAYERS=32 HIDDEN=4096 HEADS=32 ;;
70b) LAYERS=80 HIDDEN=8192 HEADS=64 ;;
esac
